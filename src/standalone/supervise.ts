import { setTimeout as delay } from 'node:timers/promises'
import { sendSignal } from './detached-process.ts'

/** One run of a process. */
export interface Run {
  readonly pid: number
  readonly ended: Promise<string>
  stop(graceMs: number): Promise<void>
}

/** A process that is started again when it dies. */
export interface Supervised {
  readonly name: string
  /** No more restarts: stops the run under way within `graceMs`, by force after it. */
  stop(graceMs: number): Promise<void>
  /** Signals the run under way, if any. */
  signal(signal: NodeJS.Signals): void
}

export interface SuperviseOptions {
  readonly name: string
  start(): Promise<Run>
  /** Called with every run's pid, so that it can be found after a kill of ours. */
  onStarted(pid: number): void
  /** Called with a line for the user when it died or could not be started again. */
  say(line: string): void
}

const BACKOFF_MS = { first: 250, most: 10_000 }
/** A run of this length shows that starting works: the next death begins at the first backoff again. */
const SETTLED_MS = 30_000

/**
 * Starts a process and keeps it running.
 *
 * @throws what the first start throws; later ones are tried for ever
 */
export async function supervise(options: SuperviseOptions): Promise<Supervised> {
  const { name, start, onStarted, say } = options
  const stopping = new AbortController()
  let run = await start()
  onStarted(run.pid)

  const watch = async () => {
    let backoffMs = BACKOFF_MS.first
    let startedAtMs = performance.now()
    while (true) {
      const how = await run.ended
      if (stopping.signal.aborted) return
      if (performance.now() - startedAtMs > SETTLED_MS) backoffMs = BACKOFF_MS.first
      say(`${name} ended (${how}), starting it again`)
      while (true) {
        await delay(backoffMs, undefined, { signal: stopping.signal }).catch(() => {})
        if (stopping.signal.aborted) return
        backoffMs = Math.min(backoffMs * 2, BACKOFF_MS.most)
        try {
          startedAtMs = performance.now()
          run = await start()
          onStarted(run.pid)
          break
        } catch (error) {
          say(`${name} does not start: ${error instanceof Error ? error.message : error}`)
        }
      }
    }
  }
  const watching = watch()

  return {
    name,
    async stop(graceMs) {
      stopping.abort()
      await run.stop(graceMs)
      await watching
      await run.stop(graceMs) // one that was being started meanwhile
    },
    signal(signal) {
      sendSignal(run.pid, signal)
    },
  }
}
