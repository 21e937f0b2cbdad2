/**
 * Loaded first into gateways and workers of a chaos run. Each SIGWINCH makes their wall clock jump: forward,
 * back beyond where it was, and to the true time. It stays within the UTC day, as another day's calls would
 * need their own partitions.
 */
const DAY_MS = 86_400_000
const JUMP_MS = 6 * 3_600_000
const MARGIN_MS = 600_000

const RealDate = Date
let jumps = 0
let offsetMs = 0

process.on('SIGWINCH', () => {
  jumps += 1
  const sinceMidnightMs = RealDate.now() % DAY_MS
  const forward = Math.max(0, Math.min(JUMP_MS, DAY_MS - sinceMidnightMs - MARGIN_MS))
  const back = Math.max(0, Math.min(JUMP_MS, sinceMidnightMs - MARGIN_MS))
  offsetMs = [0, forward, -back][jumps % 3] ?? 0
})

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + offsetMs] : args, newTarget),
  get: (target, name, receiver) =>
    name === 'now' ? () => target.now() + offsetMs : Reflect.get(target, name, receiver),
})
