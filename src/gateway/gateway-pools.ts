import type { GatewayConfig } from '../config/config.ts'
import type { Logger } from '../lib/log.ts'
import { openPostgres, type Postgres } from '../store/connection/postgres.ts'
import {
  primaryReports,
  REPORT_WORK_MEMORY_MB,
  type Reports,
  replicaReports,
} from '../store/replica/reports.ts'

/** A poll of keys or committed offsets that takes longer than this counts as unanswered. */
const POLL_STATEMENT_MS = 2_000
const OPERATOR_STATEMENT_MS = 10_000
/** Less than a client waits: a store that is there says by then that the query took too long. */
const SUMMARY_STATEMENT_MS = 3_000

/** A gateway process's ways to Postgres, by what waits for the answer. */
export interface GatewayPools {
  readonly polls: Postgres
  /** Clients' queries about their usage. */
  readonly summaries: Postgres
  readonly operators: Postgres
  /** Who owns an object that a call names. */
  readonly owners: Postgres
  readonly reports: Reports
  /** Connections to the primary that the process may take. */
  readonly max: number
  end(): Promise<void>
}

export function openGatewayPools(
  config: Pick<GatewayConfig, 'databaseUrl' | 'databaseReadUrl'>,
  log: Logger,
): GatewayPools {
  const polls = openPostgres(config.databaseUrl, {
    max: 4,
    statementTimeoutMs: POLL_STATEMENT_MS,
    applicationName: 'tallygate gateway',
    log,
  })
  const summaries = openPostgres(config.databaseUrl, {
    max: 8,
    statementTimeoutMs: SUMMARY_STATEMENT_MS,
    applicationName: 'tallygate usage',
    log,
  })
  const operators = openPostgres(config.databaseUrl, {
    max: 2,
    statementTimeoutMs: OPERATOR_STATEMENT_MS,
    workMemoryMb: REPORT_WORK_MEMORY_MB,
    applicationName: 'tallygate operator',
    log,
  })
  const replica =
    config.databaseReadUrl === null
      ? null
      : openPostgres(config.databaseReadUrl, {
          max: 2,
          statementTimeoutMs: OPERATOR_STATEMENT_MS,
          workMemoryMb: REPORT_WORK_MEMORY_MB,
          applicationName: 'tallygate reports',
          readsOnly: true,
          log,
        })
  const owners = openPostgres(config.databaseUrl, {
    max: 4,
    statementTimeoutMs: POLL_STATEMENT_MS,
    applicationName: 'tallygate objects',
    log,
  })
  const reports = replica === null ? primaryReports(operators) : replicaReports(operators, replica, log)
  return {
    polls,
    summaries,
    operators,
    owners,
    reports,
    max: 21,
    async end() {
      await reports.stop()
      await Promise.all([polls, summaries, operators, owners, replica].map((pool) => pool?.end()))
    },
  }
}
