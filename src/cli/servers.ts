import { announceKeyChange } from '../keys/key-version.ts'
import { SILENT_LOG } from '../lib/logger.ts'
import { reasonOf } from '../lib/reason-of.ts'
import { Failure } from '../operations/failure.ts'
import { cancelsStatementsOf } from '../store/connection/cancel-statements.ts'
import { openPostgres, type Postgres } from '../store/connection/postgres.ts'
import { waitForReplica } from '../store/replica/replica-lag.ts'
import { REPORT_WORK_MEMORY_MB } from '../store/replica/reports.ts'
import type { ServerLocations } from './find-servers.ts'

/** The servers of a command, open while it runs. */
export interface Servers {
  readonly locations: ServerLocations
  readonly pool: Postgres
  /**
   * For queries over many rows: their statements may take ten minutes each. The replica, once it has all that
   * the primary had when this was called; else the primary, and stderr says why.
   */
  reports(): Promise<Postgres>
  /**
   * The pepper that new keys are hashed with.
   * @throws {Failure} When it is not configured.
   */
  keyPepper(): string
  /** Announces to gateways that clients, keys or limits changed; a failure is harmless. */
  announce(): Promise<void>
}

const STATEMENT_TIMEOUT_MS = 30_000
const REPORT_TIMEOUT_MS = 600_000

/** The exit code of a program that Ctrl-C has ended. */
const INTERRUPTED = 130

export async function withServers<Result>(
  locations: ServerLocations,
  note: (text: string) => void,
  work: (servers: Servers) => Promise<Result>,
): Promise<Result> {
  const { databaseUrl, databaseReadUrl } = locations
  const common = { max: 3, applicationName: 'tallygate command line', log: SILENT_LOG }
  const pool = openPostgres(databaseUrl, { ...common, statementTimeoutMs: STATEMENT_TIMEOUT_MS })
  const patient = { ...common, statementTimeoutMs: REPORT_TIMEOUT_MS, workMemoryMb: REPORT_WORK_MEMORY_MB }
  const reports = openPostgres(databaseUrl, patient)
  const replica =
    databaseReadUrl === null ? null : openPostgres(databaseReadUrl, { ...patient, readsOnly: true })
  const cancels = [
    cancelsStatementsOf(databaseUrl, [pool, reports]),
    ...(replica === null || databaseReadUrl === null
      ? []
      : [cancelsStatementsOf(databaseReadUrl, [replica])]),
  ]
  const interrupted = () =>
    void Promise.allSettled(cancels.map((cancel) => cancel())).finally(() => process.exit(INTERRUPTED))
  process.once('SIGINT', interrupted)
  try {
    return await work({
      locations,
      pool,
      async reports() {
        if (replica === null) return reports
        const lag = await waitForReplica(pool, replica).catch((error: unknown) => {
          return { kind: 'unusable', problem: `does not answer (${reasonOf(error)})` } as const
        })
        if (lag.kind === 'near') return replica
        note(`reading the primary: the replica of DATABASE_READ_URL ${lag.problem}`)
        return reports
      },
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
    process.off('SIGINT', interrupted)
    await Promise.all([pool, reports, replica].map((opened) => opened?.end()))
  }
}
