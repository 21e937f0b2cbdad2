import { picoToUsdNumber } from '../domain/pico-usd.ts'
import { addDays } from '../domain/utc-day.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { amountAt, type Limit } from './limit.ts'
import { showLimits } from './shown-limits.ts'

/** What is left of a rate, or of calls at once. */
export interface RateLeft {
  readonly remaining: number
  /** Milliseconds until all of it is free again, if no call comes. */
  readonly resetMs: number
}

/**
 * The limits that hold for a client's calls, as `GET /v1/usage?include=limits` shows them: what is set, spent, left,
 * and until when. Budgets are what Postgres has counted, as in the summary beside them.
 *
 * @param rateOf `null`: nothing is known of the limit.
 * @throws When Postgres is away: never a wrong number.
 */
export async function answerLimits(
  pool: Postgres,
  clientId: string,
  limits: readonly Limit[],
  rateOf: (limitId: string) => RateLeft | null,
  nowMs: number,
) {
  const named = limits.map((limit) => ({ limit, client: null }))
  const shown = await showLimits(pool, named, clientId, nowMs)
  return shown.map(({ limit, spent }) => {
    const { kind, keyId, model, raise, per, isSoft } = limit
    const amount = amountAt(limit, nowMs)
    const isRaised = raise !== null && nowMs < raise.untilMs
    const terms = {
      kind,
      key_id: keyId,
      model,
      raised_until: isRaised ? new Date(raise.untilMs).toISOString() : null,
    }
    if (spent === null) {
      const rate = rateOf(limit.id)
      const remaining = rate === null ? Number(amount) : Math.max(0, Math.floor(rate.remaining))
      return {
        ...terms,
        limit: Number(amount),
        remaining,
        reset_seconds: rate === null ? 0 : Math.ceil(rate.resetMs) / 1_000,
      }
    }
    const left = amount - spent.pico
    const { fromDay, toDay } = spent.period
    return {
      ...terms,
      per,
      soft: isSoft,
      limit_usd: picoToUsdNumber(amount),
      spent_usd: picoToUsdNumber(spent.pico),
      charged_usd: picoToUsdNumber(spent.chargedPico),
      left_usd: picoToUsdNumber(left > 0n ? left : 0n),
      from: `${fromDay}T00:00:00.000Z`,
      until: toDay === null ? null : `${addDays(toDay, 1)}T00:00:00.000Z`,
    }
  })
}
