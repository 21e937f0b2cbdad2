import type { Occurrence } from '../../domain/conditions/condition.ts'
import { type Finding, ok, warning } from '../../domain/conditions/finding.ts'
import { picoToUsdNumber, picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays, type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { selectCollisions } from '../calls/response-collisions.ts'

const DAYS = 30
/** Of one day, alerts are about no more. */
const MOST = 20

/**
 * Checks for calls that cost more than CALL_ALERT_USD. They are in the totals, so this is a hint, not an
 * error.
 */
async function checkSuspects(pool: Postgres): Promise<Finding> {
  const { calls, costliest } = await selectSuspects(pool, addDays(utcDayOf(Date.now()), 1 - DAYS))
  if (costliest === null) return ok('costly calls', 'no single call cost more than CALL_ALERT_USD')
  const { callId, model, upstream, costPico } = costliest
  const usd = picoToUsdNumber(costPico).toFixed(2)
  return warning(
    'costly calls',
    `${calls} calls of the last ${DAYS} days cost more than CALL_ALERT_USD each; the most: ${usd} USD, ${model} at ${upstream}, call ${callId}`,
    'hold them against the report of the provider: tallygate reconcile; give back what was not spent: tallygate adjustment add',
  )
}

/** Checks that an upstream's response ids are unique. */
async function checkResponseIds(pool: Postgres): Promise<Finding> {
  const upstreams = await selectCollisions(pool, addDays(utcDayOf(Date.now()), 1 - DAYS))
  if (upstreams.length === 0) return ok('response ids', 'no response id was made twice')
  const named = upstreams.map(({ upstream, calls }) => `${upstream} (${calls})`).join(', ')
  return warning(
    'response ids',
    `calls of the last ${DAYS} days made responses under ids that were there: ${named}; all are counted`,
    'responses in the background may be taken for one another there: let the server make ids that do not repeat',
  )
}

const SHOWN = 5

/** Asks where upstreams serve whose prices depend on that. */
async function checkPlaces(pool: Postgres): Promise<readonly Finding[]> {
  const unknown = await selectUnknownPlaces(pool, addDays(utcDayOf(Date.now()), 1 - DAYS))
  return unknown.map(({ upstream, models, calls }) => {
    const others = models.length > SHOWN ? ` and ${models.length - SHOWN} more` : ''
    const named = `${models.slice(0, SHOWN).join(', ')}${others}`
    return warning(
      'places',
      `${calls} calls of the last ${DAYS} days at ${upstream} are at the global price, and it is not known whether they were served so: ${named}`,
      `at Azure set deployment of ${upstream} in TALLYGATE_CONFIG (global, data-zone, regional), then tallygate prices reprice; at Bedrock let clients name the place (global., us., eu.)`,
    )
  })
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
     where day >= $1 and suspect order by cost_pico desc limit ${MOST}`,
    [fromDay],
  )
  return rows.map(({ day, call_id: call, client_id: clientId, client, model, upstream, cost_pico: pico }) => {
    const cost = picoToUsdText(BigInt(pico))
    return {
      subject: call,
      period: day,
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

interface CallPorts {
  readonly pool: Postgres
}

export const COSTLY_CALLS: Condition<CallPorts> = {
  name: 'costly calls',
  place: 'postgres',
  severity: 'note',
  find: ({ pool }) => checkSuspects(pool),
  event: 'call.suspect_cost',
  alert: {
    kind: 'costly_call',
    meaning: 'a call that cost more than CALL_ALERT_USD',
    ofClient: true,
    when: 'each minute',
    finders: [({ pool }, { fromDay }) => findCostlyCalls(pool, fromDay)],
  },
  rules: [
    {
      name: 'CallCostly',
      expr: 'increase(tallygate_suspect_calls_total[1h]) > 0',
      severity: 'ticket',
      summary:
        'A single call cost more than `CALL_ALERT_USD`: an error in the log names it, `tallygate doctor` the most costly one.',
    },
    {
      name: 'CostsDiffer',
      expr: 'increase(tallygate_cost_differences_total[1d]) > 0',
      severity: 'ticket',
      summary: 'A provider reports another cost than our prices: `tallygate prices differences`.',
    },
  ],
}

export const RESPONSE_IDS: Condition<CallPorts> = {
  name: 'response ids',
  place: 'postgres',
  severity: 'note',
  find: ({ pool }) => checkResponseIds(pool),
  rules: [
    {
      name: 'ResponseIdsTwice',
      expr: 'increase(tallygate_response_id_collisions_total[1d]) > 0',
      severity: 'ticket',
      summary:
        'An upstream uses response ids twice. All calls are counted; fetches of background responses may be taken for one another there.',
    },
  ],
}

export const PLACES_UNKNOWN: Condition<CallPorts> = {
  name: 'places',
  place: 'postgres',
  severity: 'note',
  find: ({ pool }) => checkPlaces(pool),
}

/** Kept calls that cost more than `CALL_ALERT_USD` did when they were made. */
interface Suspects {
  readonly calls: bigint
  /** `null`: there is none. */
  readonly costliest: {
    readonly callId: string
    readonly model: string
    readonly upstream: string
    readonly costPico: bigint
  } | null
}

async function selectSuspects(pool: Postgres, fromDay: UtcDay): Promise<Suspects> {
  const { rows } = await pool.query<{
    call_id: string
    model: string
    upstream: string
    cost_pico: string
    calls: string
  }>(
    `select call_id, model, upstream, cost_pico, count(*) over () as calls
     from ${SCHEMA}.calls where day >= $1 and suspect order by cost_pico desc limit 1`,
    [fromDay],
  )
  const [row] = rows
  if (row === undefined) return { calls: 0n, costliest: null }
  const { model, upstream } = row
  return {
    calls: BigInt(row.calls),
    costliest: { callId: row.call_id, model, upstream, costPico: BigInt(row.cost_pico) },
  }
}

/** An upstream of which it is not known where it serves, and the models whose price depends on that. */
interface UnknownPlace {
  readonly upstream: string
  readonly models: readonly string[]
  readonly calls: bigint
}

/** The condition that `price_id` is that of a usual place, in SQL. */
const IS_USUAL_PLACE = `price_id like '%place\\_unknown%' and price_id not like 'unpriced#%'`

/**
 * The upstreams whose calls since `fromDay` are at the price of the usual place for want of a better one. Totals are read
 * only where there ever was such a price.
 */
async function selectUnknownPlaces(pool: Postgres, fromDay: UtcDay): Promise<readonly UnknownPlace[]> {
  const { rows } = await pool.query<{ upstream: string; models: string[]; calls: string }>(
    `select upstream, array_agg(distinct model order by model) as models, sum(requests)::text as calls
    from ${SCHEMA}.daily_usage
    where exists (select from ${SCHEMA}.prices where ${IS_USUAL_PLACE}) and day >= $1 and ${IS_USUAL_PLACE}
    group by upstream order by upstream`,
    [fromDay],
  )
  return rows.map(({ upstream, models, calls }) => ({ upstream, models, calls: BigInt(calls) }))
}
