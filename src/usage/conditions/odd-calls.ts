import type { Occurrence } from '../../domain/conditions/condition.ts'
import { type Finding, ok, warning } from '../../domain/conditions/finding.ts'
import { picoToUsdNumber, picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays, type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { selectSuspects, selectUnknownPlaces } from '../calls/odd-calls.ts'
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
