import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import { repeat } from '../../lib/repeat.ts'
import type { Postgres } from '../connection/postgres.ts'
import { isQueryTimeout } from '../connection/postgres.ts'
import { type ReplicaLag, ReplicaLagMeter } from './replica-lag.ts'

/** A replica for reports, as it is now. */
export interface ReplicaState {
  /** Reports are read from it; else they are from the primary. */
  readonly isUsed: boolean
  /** How old what it answers is at most, in milliseconds; `null`: not known. */
  readonly lagMs: number | null
  /** Why it is not used; `null`: it is. */
  readonly problem: string | null
}

/** The place that reports are read from. */
export interface Reports {
  /**
   * Runs queries that only read on the replica, and on the primary where the replica is away or too old. What
   * takes too long on the one is not tried on the other.
   */
  read<Result>(work: (pool: Postgres) => Promise<Result>): Promise<Result>
  /** `null`: there is no replica. */
  state(): ReplicaState | null
  stop(): Promise<void>
}

/**
 * For pools of reports: what one groups 10,000 keys in. With less, PostgreSQL's default of 4 MB, it sorts them on
 * disk, which takes twice as long.
 */
export const REPORT_WORK_MEMORY_MB = 32

const MEASURE_EVERY_MS = 2_000
const MEASURE_LIMIT_MS = 1_500
/** A report that is older would not be taken for one of now. */
const OLDEST_MS = 30_000

/** Reports without a replica: all from the primary. */
export function primaryReports(pool: Postgres): Reports {
  return { read: (work) => work(pool), state: () => null, stop: async () => {} }
}

/** Reports from a replica while it is near enough to the primary. The caller closes both pools. */
export function replicaReports(primary: Postgres, replica: Postgres, log: Logger): Reports {
  const meter = new ReplicaLagMeter(primary, replica)
  let lag: ReplicaLag = { kind: 'unusable', problem: 'was not measured yet' }
  let wasUsed = true

  const state = (): ReplicaState => {
    if (lag.kind === 'unusable') return { isUsed: false, lagMs: null, problem: lag.problem }
    const lagMs = performance.now() - lag.asOfMs
    const isOld = lagMs > OLDEST_MS
    return { isUsed: !isOld, lagMs, problem: isOld ? 'is too far behind' : null }
  }
  const measure = async (): Promise<void> => {
    try {
      lag = await withinDeadline(meter.measure(), MEASURE_LIMIT_MS)
    } catch {
      // A reading of it grows old by itself; a replica that is away refuses the next report.
    }
    const { isUsed, problem } = state()
    if (isUsed !== wasUsed) {
      if (isUsed) log.info({ event: 'replica.used' }, 'reports are read from the replica')
      else log.warn({ event: 'replica.left', problem }, 'reports are read from the primary')
    }
    wasUsed = isUsed
  }
  const measuring = repeat(measure, MEASURE_EVERY_MS)

  return {
    state,
    async read(work) {
      if (!state().isUsed) return await work(primary)
      try {
        return await work(replica)
      } catch (error) {
        if (isQueryTimeout(error)) throw error
        // Away, or in the way of what it replays (40001), or without a table that a migration has just made.
        lag = { kind: 'unusable', problem: 'refused a report, or is away' }
        return await work(primary)
      }
    },
    stop: () => measuring.stop(),
  }
}
