import { Gauge, type Registry } from 'prom-client'

/** A replica for reports, as far as metrics show it. */
export interface ShownReplica {
  readonly isUsed: boolean
  /** `null`: not known. */
  readonly lagMs: number | null
}

/** Shows whether reports come from the replica and how old they are; nothing where there is none. */
export function showReplica(registry: Registry, find: () => ShownReplica | null): void {
  const gauge = (name: string, help: string, measure: (replica: ShownReplica) => number | null) =>
    new Gauge({
      name,
      help,
      aggregator: 'max',
      registers: [registry],
      collect() {
        const replica = find()
        const value = replica === null ? null : measure(replica)
        this.reset()
        if (value === null) this.remove()
        else this.set(value)
      },
    })
  gauge(
    'tallygate_replica_unused',
    '1 while reports come from the primary, because the replica is away or too far behind.',
    ({ isUsed }) => (isUsed ? 0 : 1),
  )
  gauge('tallygate_replica_lag_seconds', 'How old what the replica answers is at most.', ({ lagMs }) =>
    lagMs === null ? null : lagMs / 1_000,
  )
}
