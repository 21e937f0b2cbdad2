import { dailyOccurrence, type Occurrence } from '../../domain/conditions/condition.ts'
import { warning } from '../../domain/conditions/finding.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { selectCallDays } from '../../usage/calls/call-partitions.ts'
import { describeSort, renderAmount } from '../limit-document.ts'
import { sumTriedDays } from '../tried/tried-days.ts'
import { selectTried } from '../tried/tried-table.ts'

const NAME = 'tried limits'

/** What a tried limit would have refused on a day, by the last count. */
interface TriedFigures {
  /** Its id. */
  readonly limit: string
  readonly calls: number
  readonly refused: number
}

/** Today's. One that is not counted yet is absent. */
export async function selectTriedFigures(pool: Postgres, nowMs: number): Promise<readonly TriedFigures[]> {
  const today = utcDayOf(nowMs)
  const sums = await sumTriedDays(pool, { fromDay: today, toDay: today })
  return [...sums].map(([limit, { calls, refused }]) => ({ limit, calls, refused }))
}

/** Limits that would have refused calls on a day. */
export async function findTriedRefusals(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const sums = await sumTriedDays(pool, { fromDay: day, toDay: day })
  if ([...sums.values()].every(({ refused }) => refused === 0)) return []
  return (await selectTried(pool)).flatMap(({ limit, client }) => {
    const of = sums.get(limit.id)
    if (of === undefined || of.refused === 0) return []
    const { calls, refused, refusedPico, firstRefusedAt } = of
    const usd = picoToUsdText(refusedPico)
    const amount = `${renderAmount(limit, limit.amount)}${limit.kind === 'budget' ? ' USD' : ''}`
    const whose = client === null ? 'The default of clients' : `The limit of ${client}`
    const message = `${whose} that is tried, ${amount} (${describeSort(limit)}), would have refused calls on ${day}: ${refused} of ${calls} so far, ${usd} USD`
    const occurrence = dailyOccurrence(limit.id, day, {
      message: `${message}.`,
      ...{ tried: limit.id, key: limit.keyId, model: limit.model, calls, refused_calls: refused },
      ...{ refused_usd: usd, first_refused_at: firstRefusedAt?.toISOString() ?? null },
    })
    return [limit.clientId === null ? occurrence : { ...occurrence, clientId: limit.clientId }]
  })
}

export const TRIED_LIMITS: Condition<{ readonly pool: Postgres }> = {
  name: NAME,
  place: 'postgres',
  severity: 'note',
  async find({ pool }) {
    if ((await selectTried(pool)).length === 0 || (await selectCallDays(pool)).size > 0) return []
    return warning(
      NAME,
      'limits are tried, and no calls are kept that they could be tried on',
      'set CALL_RETENTION_DAYS above 0, or end the trials: limits drop ID',
    )
  },
  alert: {
    kind: 'limit_would_refuse',
    meaning: 'a limit that is tried would have refused calls',
    ofClient: false,
    when: 'each minute',
    finders: [
      async ({ pool }, { fromDay, today }) => {
        const ofDays = [...new Set([fromDay, today])].map((day) => findTriedRefusals(pool, day))
        return (await Promise.all(ofDays)).flat()
      },
    ],
  },
}
