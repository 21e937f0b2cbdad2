import { selectFailingReceivers } from '../../limits/alerts/receivers.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type Finding, failure, ok } from '../finding.ts'

/** Checks that alerts reach their receivers; nothing where there are no receivers. */
export async function checkAlerts(pool: Postgres): Promise<readonly Finding[]> {
  const { receivers, failing } = await selectFailingReceivers(pool)
  if (receivers === 0) return []
  const [first] = failing
  if (first === undefined) return [ok('alerts', `${receivers} receivers, and none fails`)]
  const { id, since, error } = first
  const others = failing.length > 1 ? `, and ${failing.length - 1} more` : ''
  return [
    failure(
      'alerts',
      `receiver ${id} has taken no alert since ${since.toISOString()}: ${error ?? 'no worker sends any'}${others}`,
      `see that it answers: alerts test ${id}; or give it up: alerts remove ${id}`,
    ),
  ]
}
