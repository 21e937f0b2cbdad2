import { type Finding, failure, ok } from '../domain/conditions/finding.ts'
import type { Condition } from '../store/conditions/condition.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { selectFailingReceivers } from './receivers.ts'

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
      `see that it answers: tallygate alerts test ${id}; or give it up: tallygate alerts remove ${id}`,
    ),
  ]
}

export const RECEIVERS: Condition<{ readonly pool: Postgres }> = {
  name: 'alerts',
  place: 'postgres',
  severity: 'wrong',
  find: ({ pool }) => checkAlerts(pool),
  event: 'alerts.not_delivered',
}
