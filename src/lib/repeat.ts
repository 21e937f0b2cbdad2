import { setTimeout as delay } from 'node:timers/promises'

/** Runs `task` every `intervalMs`, first at once, never twice at a time, until stopped. It must not reject. */
export function repeat(task: () => Promise<void>, intervalMs: number): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | null = null
  let stopped = false
  let running = Promise.resolve()
  const run = async (): Promise<void> => {
    await task()
    if (!stopped) timer = setTimeout(start, intervalMs)
  }
  const start = (): void => {
    running = run()
  }
  start()
  return {
    async stop() {
      stopped = true
      if (timer !== null) clearTimeout(timer)
      await running
    },
  }
}

/**
 * Polls until there is an answer.
 * @param ask Returns the answer, or null for "not yet". What it throws ends the polling.
 * @returns The first answer, or null when `timeoutMs` passed without one.
 */
export async function until<T>(
  ask: () => T | null | Promise<T | null>,
  { timeoutMs, everyMs = 25 }: { readonly timeoutMs: number; readonly everyMs?: number },
): Promise<T | null> {
  const deadline = performance.now() + timeoutMs
  while (true) {
    const answer = await ask()
    if (answer !== null) return answer
    if (performance.now() >= deadline) return null
    await delay(everyMs)
  }
}

/** Lets something through at most once in a time. */
export interface Gate {
  /** Tells whether it may pass now. */
  passes(): boolean
  /** The next one passes at once. Returns whether any has passed since the gate was opened last. */
  reopen(): boolean
}

/**
 * A gate for log lines that would repeat during an outage: one line in `ms`, and each further one after twice the time,
 * up to `maxMs`. `reopen` starts again after recovery.
 */
export function atMostEvery(ms: number, maxMs: number = ms): Gate {
  let passedAtMs = Number.NEGATIVE_INFINITY
  let everyMs = ms
  return {
    passes() {
      const isFirst = passedAtMs === Number.NEGATIVE_INFINITY
      const nowMs = performance.now()
      if (nowMs - passedAtMs < everyMs) return false
      if (!isFirst) everyMs = Math.min(everyMs * 2, maxMs)
      passedAtMs = nowMs
      return true
    },
    reopen() {
      const hasPassed = passedAtMs !== Number.NEGATIVE_INFINITY
      passedAtMs = Number.NEGATIVE_INFINITY
      everyMs = ms
      return hasPassed
    },
  }
}
