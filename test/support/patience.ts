import { readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { expect, vi } from 'vitest'
import { until } from '../../src/lib/repeat.ts'

/** The one time that a test waits for a condition, on an idle machine. */
export const PATIENCE_MS = 20_000

/** The end of a test that hangs, on an idle machine. No test measures by it. */
export const TEST_TIMEOUT_MS = 120_000

/** A machine that is busier has other problems. */
const MOST = 20

/**
 * How many times longer work takes on this machine now than alone on it: as many processes as wait for a core. A limit of
 * time that a test measures by is multiplied by it, since a busy machine is slow, not wrong.
 */
export function busyness(): number {
  return Math.min(MOST, Math.max(1, busyProcesses() / availableParallelism()))
}

/** Those that run or wait for a core: of the last minute, or now where they are more. A burst is in the average too late. */
function busyProcesses(): number {
  const [ofMinute = 0] = loadavg()
  try {
    const [, now = 0] = / (\d+)\/\d+ /.exec(readFileSync('/proc/loadavg', 'utf8')) ?? []
    return Math.max(ofMinute, Number(now))
  } catch {
    return ofMinute // no Linux
  }
}

/** Milliseconds for which this thread has worked: what others took of its core meanwhile is not in them. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

export function patienceMs(): number {
  return PATIENCE_MS * busyness()
}

/** Milliseconds of an idle machine since it was made: those of a busy one count for less whenever it is asked. */
export function idleClock(): () => number {
  let [idleMs, askedAtMs] = [0, performance.now()]
  return () => {
    const nowMs = performance.now()
    idleMs += (nowMs - askedAtMs) / busyness()
    askedAtMs = nowMs
    return idleMs
  }
}

const TICK_MS = 200

/** How long work took, by the clock and of an idle machine. */
export async function measured(work: () => Promise<unknown>): Promise<{ ms: number; idleMs: number }> {
  const startedAtMs = performance.now()
  const idleMs = idleClock()
  const ticking = setInterval(idleMs, TICK_MS)
  try {
    await work()
    return { ms: performance.now() - startedAtMs, idleMs: idleMs() }
  } finally {
    clearInterval(ticking)
  }
}

/**
 * As `until`, for suites without Vitest.
 *
 * @returns The first answer, or null where `timeoutMs` of an idle machine passed without one.
 */
export async function untilPatiently<T>(
  ask: () => T | null | Promise<T | null>,
  { timeoutMs, everyMs = 100 }: { readonly timeoutMs: number; readonly everyMs?: number },
): Promise<T | null> {
  const idleMs = idleClock()
  const last = await until<{ readonly answer: T | null }>(
    async () => {
      const answer = await ask()
      return answer !== null || idleMs() >= timeoutMs ? { answer } : null
    },
    { timeoutMs: Number.POSITIVE_INFINITY, everyMs },
  )
  return last?.answer ?? null
}

/**
 * Waits of this test file, `expect.poll` and those of `vi`, end after `patienceMs`, which no call has to name. The
 * configuration alone cannot do that: it knows the machine only as it is when the run begins, and not the waits of `vi`,
 * whose own end is a second.
 */
export function waitPatiently(testTimeoutMs: number): void {
  const limit = testTimeoutMs * busyness()
  vi.setConfig({ testTimeout: limit, hookTimeout: limit })
  if (expect.poll.name === pollPatiently.name) return // files share a process
  Object.assign(expect, { poll: pollPatiently })
  Object.assign(vi, { waitFor, waitUntil })
}

const own = { poll: expect.poll, waitFor: vi.waitFor, waitUntil: vi.waitUntil }

const pollPatiently: typeof own.poll = (ask, options) => own.poll(ask, { timeout: patienceMs(), ...options })
const waitFor: typeof own.waitFor = (ask, options) => own.waitFor(ask, withPatience(options))
const waitUntil: typeof own.waitUntil = (ask, options) => own.waitUntil(ask, withPatience(options))

function withPatience<Options extends object>(options: number | Options | undefined) {
  return typeof options === 'number' ? options : { timeout: patienceMs(), ...options }
}

/** Until `isTrue`, a turn of the event loop at a time: for what needs no time, whatever the clock of the test says. */
export async function soon(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + patienceMs()
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error('it never became so')
    await new Promise((resolve) => setImmediate(resolve))
  }
}
