import { MOST_CONNECTIONS } from '../../../store/connection/lanes/connection-budget.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { OUT_OF_CONNECTIONS } from '../../../store/connection/postgres.ts'
import { SPARE_CONNECTIONS, selectConnectionUse } from '../../../store/processes/processes-table.ts'
import { type Finding, failure, ok, warning } from '../../finding.ts'

/** What a command itself may take. */
const OWN = 3

/** Holds the connections in use, and those that the processes that run may take, against `max_connections`. */
export async function checkConnections(pool: Postgres): Promise<Finding> {
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
