import { Worker } from 'node:worker_threads'

/** When calls are to be sent: `calls` of them, one every `everyMs`. */
export interface Schedule {
  readonly calls: number
  readonly everyMs: number
}

/** Before the first call, so that the thread is up. */
const LEAD_MS = 200

/**
 * Calls `onDue` for each call with the time for which it was scheduled, as of `performance.now()`. Timers of an event
 * loop are good to a millisecond only, which would send calls in clusters. So a thread sleeps until each time, and
 * wakes this one.
 */
export function startPacer(schedule: Schedule, onDue: (scheduledMs: number) => void): void {
  const startMs = performance.now() + LEAD_MS
  const startNs = process.hrtime.bigint() + BigInt(LEAD_MS * 1e6)
  const thread = new Worker(new URL('./pacer-thread.ts', import.meta.url), {
    workerData: { ...schedule, startNs },
  })
  let due = 0
  thread.on('message', (through: number) => {
    for (; due < through; due += 1) onDue(startMs + due * schedule.everyMs)
  })
}
