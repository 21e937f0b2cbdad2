import { picoToUsdNumber } from '../../domain/pico-usd.ts'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { selectSuspects, selectUnknownPlaces } from '../../usage/calls/odd-calls.ts'
import { selectCollisions } from '../../usage/calls/response-collisions.ts'
import { type Finding, ok, warning } from '../finding.ts'

const DAYS = 30

/**
 * Checks for calls that cost more than CALL_ALERT_USD. They are in the totals, so this is a hint, not an
 * error.
 */
export async function checkSuspects(pool: Postgres): Promise<Finding> {
  const { calls, costliest } = await selectSuspects(pool, addDays(utcDayOf(Date.now()), 1 - DAYS))
  if (costliest === null) return ok('costly calls', 'no single call cost more than CALL_ALERT_USD')
  const { callId, model, upstream, costPico } = costliest
  const usd = picoToUsdNumber(costPico).toFixed(2)
  return warning(
    'costly calls',
    `${calls} calls of the last ${DAYS} days cost more than CALL_ALERT_USD each; the most: ${usd} USD, ${model} at ${upstream}, call ${callId}`,
    'hold them against the report of the provider: reconcile; give back what was not spent: adjustment',
  )
}

/** Checks that an upstream's response ids are unique. */
export async function checkResponseIds(pool: Postgres): Promise<Finding> {
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
export async function checkPlaces(pool: Postgres): Promise<readonly Finding[]> {
  const unknown = await selectUnknownPlaces(pool, addDays(utcDayOf(Date.now()), 1 - DAYS))
  return unknown.map(({ upstream, models, calls }) => {
    const others = models.length > SHOWN ? ` and ${models.length - SHOWN} more` : ''
    const named = `${models.slice(0, SHOWN).join(', ')}${others}`
    return warning(
      'places',
      `${calls} calls of the last ${DAYS} days at ${upstream} are at the global price, and it is not known whether their deployments are global: ${named}`,
      `set deployment of ${upstream} in TALLYGATE_CONFIG (global, data-zone, regional), then prices reprice`,
    )
  })
}
