import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import { MOST_CONNECTIONS } from '../connection/lanes/connection-budget.ts'
import type { Postgres } from '../connection/postgres.ts'
import { OUT_OF_CONNECTIONS } from '../connection/postgres.ts'
import { SPARE_CONNECTIONS, selectConnectionUse } from '../processes/processes-table.ts'
import type { Condition } from './condition.ts'

/** What a command itself may take. */
const OWN = 3

/** Holds the connections in use, and those that the processes that run may take, against `max_connections`. */
async function checkConnections(pool: Postgres): Promise<Finding> {
  const use = await selectConnectionUse(pool)
  const { most, reserved, inUse, others, gateways, gatewaysMay, workers, workersMay } = use
  const detail = `${inUse} in use of ${most}, ${reserved} of them for superusers; ${gateways} gateway processes may take ${gatewaysMay}, ${workers} workers ${workersMay}, other programs have ${others}`
  if (inUse + OWN > most - reserved) return failure('connections', detail, OUT_OF_CONNECTIONS)
  const wanted = reserved + others + gateways * MOST_CONNECTIONS + workersMay + SPARE_CONNECTIONS
  if (wanted <= most) return ok('connections', detail)
  return warning(
    'connections',
    `${detail}: gateways take turns at fewer than the ${MOST_CONNECTIONS} that each would use`,
    `max_connections = ${wanted}, or a pooler (docs/scaling.md)`,
  )
}

export const CONNECTIONS: Condition = {
  name: 'connections',
  place: 'postgres',
  severity: 'wrong',
  find: ({ pool }) => checkConnections(pool),
  event: 'postgres.out_of_connections',
  readiness: {
    item: 'connections',
    lacks: ({ connectionShortage }) => connectionShortage !== null,
    advise: ({ connectionShortage }) => connectionShortage,
  },
}
