import type { UnpricedReason } from '../../../call/unpriced-reason.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'
import type { UtcDay } from '../../../domain/utc-day.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { SCHEMA } from '../../../store/connection/schema.ts'
import { nameUnpriced } from '../../../usage/unpriced-document.ts'
import { selectUnpricedUse, type UnpricedUse } from '../../../usage/unpriced-use.ts'
import { ALERTS_A_DAY, type Occurrence } from '../raise-alerts.ts'

/** Of calls that were answered, and nothing tells what they used. The other reasons are a price that is missing. */
const UNREAD: readonly (UnpricedReason | string)[] = [
  'no_reader',
  'no_figures',
  'invalid_usage',
  'contradictory_usage',
  'passes_by',
] satisfies readonly UnpricedReason[]

/** Their figures are still to come. */
const LATER: UnpricedReason = 'billed_later'

/** Calls from `fromDay` on that have no price, by model and upstream, and those that could not be read, by path. */
export async function findUnpricedCalls(pool: Postgres, fromDay: UtcDay): Promise<readonly Occurrence[]> {
  const used = await selectUnpricedUse(pool, fromDay)
  return used.filter(({ reason }) => reason !== LATER).map(unpricedOccurrence)
}

function unpricedOccurrence(use: UnpricedUse): Occurrence {
  const isUnread = use.reason !== null && UNREAD.includes(use.reason)
  const { provider, upstream, method, path, reason } = use
  const model = nameUnpriced(use)
  const subject = isUnread && path !== null ? `${method} ${path} at ${upstream}` : `${model} at ${upstream}`
  const calls = Number(use.calls)
  const what = isUnread ? 'could not be read' : 'have no price'
  return {
    kind: isUnread ? 'unread' : 'unpriced',
    subject,
    period: use.lastDay,
    threshold: 0,
    clientId: null,
    payload: {
      message: `Calls ${what}, and their cost is in no total: ${subject}, ${calls} by now on ${use.lastDay} (${reason ?? 'no_price'}).`,
      model,
      provider,
      upstream,
      service_tier: use.serviceTier,
      method,
      path,
      reason,
      calls,
      day: use.lastDay,
    },
  }
}

/** Single calls from `fromDay` on that cost more than CALL_ALERT_USD did when they were made, as far as calls are kept. */
export async function findCostlyCalls(pool: Postgres, fromDay: UtcDay): Promise<readonly Occurrence[]> {
  const { rows } = await pool.query<{
    day: UtcDay
    call_id: string
    client_id: string
    client: string
    model: string
    upstream: string
    cost_pico: string
  }>(
    `select day, call_id, client_id, client, model, upstream, cost_pico from ${SCHEMA}.calls
     where day >= $1 and suspect order by cost_pico desc limit ${ALERTS_A_DAY}`,
    [fromDay],
  )
  return rows.map(({ day, call_id: call, client_id: clientId, client, model, upstream, cost_pico: pico }) => {
    const cost = picoToUsdText(BigInt(pico))
    return {
      kind: 'costly_call',
      subject: call,
      period: day,
      threshold: 0,
      clientId,
      payload: {
        message: `One call of ${client} cost ${cost} USD: ${model} at ${upstream}, call ${call}.`,
        call,
        model,
        upstream,
        cost_usd: cost,
        day,
      },
    }
  })
}
