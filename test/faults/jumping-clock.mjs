/** Loaded first into a process whose clock is to jump: SIGWINCH moves `Date` ten minutes ahead, and the next one back. */
const JUMP_MS = 600_000
const RealDate = Date
const realNow = RealDate.now
let offsetMs = 0
process.on('SIGWINCH', () => {
  offsetMs = JUMP_MS - offsetMs
})

const now = () => realNow() + offsetMs
RealDate.now = now
globalThis.Date = new Proxy(RealDate, {
  construct: (target, values, made) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values, made),
})
