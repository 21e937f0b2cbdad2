import type { StandOptions } from '../../src/standalone/stand/stand.ts'
import {
  startDatabase as startOwnDatabase,
  startStand as startOwnStand,
} from '../../src/standalone/stand/stand.ts'
import { moveClock } from '../../test/support/servers/database-clock.ts'

export { isReady, type Stand, type StandClient, type StandGateway } from '../../src/standalone/stand/stand.ts'

/** The stand of `tallygate prove`, whose database's clock is moved along with ours. */
export const startStand = (options: StandOptions) => startOwnStand({ ...options, onPostgres: moveClock })
export const startDatabase = (options: StandOptions) =>
  startOwnDatabase({ ...options, onPostgres: moveClock })
