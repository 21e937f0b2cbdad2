import { setTimeout as delay } from 'node:timers/promises'

/** One run of a process. */
export interface Run {
  readonly pid: number
  readonly ended: Promise<string>
  stop(graceMs: number): Promise<void>
}

/** A process that is restarted when it dies. */
export interface Supervised {
  readonly name: string
  /** Ends restarting and stops the current run within `graceMs`, then by force. May be called again. */
  stop(graceMs: number): Promise<void>
}

export interface SuperviseOptions {
  readonly name: string
  /**
   * Starts a run and waits until it is ready. Rejects, with nothing left running, when that fails or is
   * aborted.
   */
  start(givenUp: AbortSignal): Promise<Run>
  /** Called with every run's pid, so that it can be found after a kill of ours. */
  onStarted(pid: number): void
  /** Called with a line for the user when it died or could not be restarted. */
  say(line: string): void
}

/** A process that dies is started again at once: every moment without it cuts calls. One that dies again waits. */
const BACKOFF_MS = { first: 0, next: 250, most: 10_000 }
/** After a run of this length the backoff begins again at its shortest. */
const SETTLED_MS = 30_000

/**
 * Starts a process and keeps it running.
 * @throws What the first start throws; later starts are retried for ever.
 */
export async function supervise(
  { name, start, onStarted, say }: SuperviseOptions,
  givenUp: AbortSignal,
): Promise<Supervised> {
  const stopping = new AbortController()
  const { signal: stopped } = stopping
  let run = await start(givenUp)
  onStarted(run.pid)

  const keepRunning = async () => {
    let backoffMs = BACKOFF_MS.first
    let startedAtMs = performance.now()
    while (!stopped.aborted) {
      const how = await run.ended
      if (stopped.aborted) return
      if (performance.now() - startedAtMs > SETTLED_MS) backoffMs = BACKOFF_MS.first
      say(`${name} ended (${how}), starting it again`)
      let next: Run | null = null
      while (next === null) {
        await delay(backoffMs, undefined, { signal: stopped }).catch(() => {})
        if (stopped.aborted) return
        backoffMs = Math.min(Math.max(backoffMs * 2, BACKOFF_MS.next), BACKOFF_MS.most)
        startedAtMs = performance.now()
        next = await start(stopped).catch((error: unknown) => {
          if (!stopped.aborted)
            say(`${name} does not start: ${error instanceof Error ? error.message : error}`)
          return null
        })
      }
      run = next
      onStarted(run.pid)
    }
  }
  const kept = keepRunning()

  return {
    name,
    async stop(graceMs) {
      stopping.abort()
      await run.stop(graceMs)
      await kept
      await run.stop(graceMs) // one whose start could not be given up any more
    },
  }
}
