import { Gauge, type Registry } from 'prom-client'

/** Jobs at one upstream that have not reported their usage. */
export interface WaitingJobs {
  readonly upstream: string
  readonly jobs: number
  /** When the oldest of them was submitted. */
  readonly oldestAt: Date
}

/**
 * Shows what is in no total yet. All processes show the same; while the store does not answer, the last value
 * stands.
 */
export function showJobs(registry: Registry, select: () => Promise<readonly WaitingJobs[]>): void {
  let last: readonly WaitingJobs[] = []
  let asked: Promise<void> | null = null
  /** One query for both gauges of a scrape. */
  const ask = async (): Promise<void> => {
    asked ??= select()
      .then(
        (waiting) => {
          last = waiting
        },
        () => {},
      )
      .finally(() => {
        asked = null
      })
    await asked
  }
  const gauge = (name: string, help: string, measure: (waiting: WaitingJobs) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['upstream'],
      aggregator: 'max',
      registers: [registry],
      async collect() {
        await ask()
        this.reset()
        for (const waiting of last) this.set({ upstream: waiting.upstream }, measure(waiting))
      },
    })
  gauge(
    'tallygate_unsettled_jobs',
    'Batches and other submitted jobs that have not reported their usage.',
    ({ jobs }) => jobs,
  )
  gauge(
    'tallygate_oldest_unsettled_job_seconds',
    'How long ago the oldest of them was submitted.',
    ({ oldestAt }) => Math.max(0, (Date.now() - oldestAt.getTime()) / 1_000),
  )
}
