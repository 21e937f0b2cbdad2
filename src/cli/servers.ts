import { Failure } from '../doctor/failure.ts'
import { announceKeyChange } from '../keys/key-announcements.ts'
import { SILENT_LOG } from '../lib/logger.ts'
import { openPostgres, type Postgres } from '../store/connection/postgres.ts'
import type { ServerLocations } from './find-servers.ts'

/** The servers of a command, open while it runs. */
export interface Servers {
  readonly locations: ServerLocations
  readonly pool: Postgres
  /**
   * The pepper that new keys are hashed with.
   * @throws {Failure} When it is not configured.
   */
  keyPepper(): string
  /** Announces to gateways that clients or keys changed; a failure is harmless. */
  announce(): Promise<void>
}

const STATEMENT_TIMEOUT_MS = 30_000

export async function withServers<Result>(
  locations: ServerLocations,
  work: (servers: Servers) => Promise<Result>,
): Promise<Result> {
  const pool = openPostgres(locations.databaseUrl, {
    max: 3,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: 'tallygate command line',
    log: SILENT_LOG,
  })
  try {
    return await work({
      locations,
      pool,
      keyPepper() {
        const [pepper] = locations.keyPeppers
        if (pepper === undefined)
          throw new Failure('KEY_PEPPER is not set: it must be the one of the gateway')
        return pepper
      },
      async announce() {
        const { redisUrl, redisPrefix } = locations
        if (redisUrl !== null) await announceKeyChange(redisUrl, redisPrefix, SILENT_LOG)
      },
    })
  } finally {
    await pool.end()
  }
}
