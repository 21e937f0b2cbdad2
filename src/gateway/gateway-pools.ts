import type { GatewayConfig } from '../config/config.ts'
import type { Logger } from '../lib/log.ts'
import { type Lanes, openLanes } from '../store/connection/lanes/lanes.ts'
import { openPostgres, type Postgres } from '../store/connection/postgres.ts'
import {
  primaryReports,
  REPORT_WORK_MEMORY_MB,
  type Reports,
  replicaReports,
} from '../store/replica/reports.ts'

/** A poll, or a figure that a call waits for, that takes longer than this counts as unanswered. */
const SHORT = { statementTimeoutMs: 2_000, workMemoryMb: null }
/** Less than a client waits: a store that is there says by then that the query took too long. */
const USAGE = { statementTimeoutMs: 3_000, workMemoryMb: null }
/** As long as the command line gives a statement of a report. */
const LONG = { statementTimeoutMs: 600_000, workMemoryMb: REPORT_WORK_MEMORY_MB }
const REPORTS = { statementTimeoutMs: 10_000, workMemoryMb: REPORT_WORK_MEMORY_MB }

/** A gateway process's ways to Postgres. */
export interface GatewayPools {
  /** All that goes to the primary, by what waits for the answer. */
  readonly lanes: Lanes
  /** Where operators' reports are read. */
  readonly reports: Reports
  /** Opens a connection of its own for a long operation, so that no lane waits for it. The caller ends it. */
  openLong(): Postgres
  end(): Promise<void>
}

export function openGatewayPools(
  { databaseUrl, databaseReadUrl }: Pick<GatewayConfig, 'databaseUrl' | 'databaseReadUrl'>,
  log: Logger,
): GatewayPools {
  const lanes = openLanes(databaseUrl, {
    applicationName: 'tallygate gateway',
    limits: { polls: SHORT, limits: SHORT, objects: SHORT, usage: USAGE, reports: REPORTS },
    log,
  })
  const replica =
    databaseReadUrl === null
      ? null
      : openPostgres(databaseReadUrl, {
          max: 2,
          ...REPORTS,
          applicationName: 'tallygate reports',
          readsOnly: true,
          log,
        })
  const reports =
    replica === null ? primaryReports(lanes.reports) : replicaReports(lanes.reports, replica, log)
  return {
    lanes,
    reports,
    openLong: () =>
      openPostgres(databaseUrl, { max: 1, ...LONG, applicationName: 'tallygate long operation', log }),
    async end() {
      await reports.stop()
      await Promise.all([lanes.end(), replica?.end()])
    },
  }
}
