import { Counter, type Registry } from 'prom-client'

/** Calls of one upstream that created responses under ids that existed already. */
export interface CollisionCount {
  readonly upstream: string
  readonly calls: bigint
}

/**
 * Shows what the workers have counted. All processes show the same, so one is enough. While the store does
 * not answer, the last value stands.
 */
export function showCollisions(registry: Registry, select: () => Promise<readonly CollisionCount[]>): void {
  let last: readonly CollisionCount[] = []
  new Counter({
    name: 'tallygate_response_id_collisions_total',
    help: 'Calls that made a response under an id that was there: all are counted, and fetches may be mistaken.',
    labelNames: ['upstream'],
    aggregator: 'max',
    registers: [registry],
    async collect() {
      last = await select().catch(() => last)
      this.reset()
      for (const { upstream, calls } of last) this.inc({ upstream }, Number(calls))
    },
  })
}
