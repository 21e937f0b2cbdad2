import type { UtcDay } from '../../../domain/utc-day.ts'
import { type PriceDoubt, selectPriceDoubts } from '../../../pricing/refresh/price-doubts.ts'
import { ageInDays, OLD_DAYS, type PriceState, readPriceState } from '../../../pricing/refresh/price-state.ts'
import { PRICE_KINDS } from '../../../pricing/refresh/stored-prices.ts'
import type { PriceCatalogKind } from '../../../pricing/sources/price-catalog-source.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import type { Occurrence } from '../raise-alerts.ts'

/** Newer prices that wait for a person, data that was refused, and data that is old. */
export async function findPriceTroubles(pool: Postgres, nowMs: number): Promise<readonly Occurrence[]> {
  const doubts = await selectPriceDoubts(pool)
  const today = new Date(nowMs).toISOString().slice(0, 10)
  const states = await Promise.all(
    PRICE_KINDS.map(async (kind) => troublesOf(kind, await readPriceState(pool, kind), nowMs, today)),
  )
  return [...doubts.map(doubted), ...states.flat()]
}

/** Once, on the day that it was first seen. */
function doubted({ kind, provider, model, why, since }: PriceDoubt): Occurrence {
  const name = `${provider}/${model}`
  return occurrence(name, since.toISOString().slice(0, 10), {
    message: `The newer price of ${name} is doubted, and the old one stands: ${why}. If it is right: prices accept ${name}.`,
    source: kind,
    provider,
    model,
    why,
  })
}

function troublesOf(
  kind: PriceCatalogKind,
  state: PriceState,
  nowMs: number,
  today: UtcDay,
): readonly Occurrence[] {
  const { last, source } = state
  const days = ageInDays(state, nowMs)
  return [
    ...(last?.outcome === 'refused'
      ? [
          occurrence(`${kind} refused`, last.attemptedAt.toISOString().slice(0, 10), {
            message: `Newer prices of ${kind} were refused, and ${source} stands: ${last.problem}. See prices diff.`,
            source: kind,
            why: last.problem,
          }),
        ]
      : []),
    ...(days >= OLD_DAYS && !(kind === 'azure' && state.isBundled)
      ? [
          occurrence(`${kind} old`, today, {
            message: `Calls are priced by data that was last fresh ${days} days ago: ${source}. See doctor.`,
            source: kind,
            days,
          }),
        ]
      : []),
  ]
}

function occurrence(subject: string, period: UtcDay, payload: Occurrence['payload']): Occurrence {
  return {
    kind: 'prices',
    subject,
    period,
    threshold: 0,
    clientId: null,
    payload: { ...payload, day: period },
  }
}
