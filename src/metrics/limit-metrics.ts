import { Counter, Gauge, type Registry } from 'prom-client'

/** How limits are shared with the other gateways, as of now. */
export interface LimitSharing {
  readonly exchanges: number
  readonly exchangeFailures: number
  readonly waiting: number
  readonly isDegraded: boolean
}

/** What limits tell of themselves. Both are asked at every scrape. */
export interface LimitFigures {
  readonly stats: () => LimitSharing
  /** Refused calls by reason, since the start. */
  readonly refusals: () => ReadonlyMap<string, number>
}

/** Shows refused calls and the sharing of limits. No label names a client: who was refused is in Postgres. */
export function showLimitMetrics(registry: Registry, { stats: sharing, refusals }: LimitFigures): void {
  new Counter({
    name: 'tallygate_refused_calls_total',
    help: 'Calls of known clients that were refused before they went upstream, by reason. No total has them.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [reason, count] of refusals()) this.inc({ reason }, count)
    },
  })
  const counter = (name: string, help: string, of: (now: LimitSharing) => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(of(sharing()))
      },
    })
  counter(
    'tallygate_limit_exchanges_total',
    'Times that this process and the others exchanged over Redis what clients use.',
    ({ exchanges }) => exchanges,
  )
  counter(
    'tallygate_limit_exchange_failures_total',
    'Those of them that Redis did not answer in time.',
    ({ exchangeFailures }) => exchangeFailures,
  )
  const gauge = (name: string, help: string, of: (now: LimitSharing) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(of(sharing()))
      },
    })
  gauge(
    'tallygate_limit_waiting_calls',
    'Calls that wait for running calls or for other gateways.',
    ({ waiting }) => waiting,
  )
  gauge(
    'tallygate_limit_degraded',
    '1: Redis is away, so this process goes on with its share of each limit.',
    ({ isDegraded }) => (isDegraded ? 1 : 0),
  )
}
