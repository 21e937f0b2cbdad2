import { describeMs } from '../../../domain/duration.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { type RunningProcess, selectProcesses } from '../../../store/processes/processes-table.ts'
import { CLOCK_FAR_MS, CLOCK_OFF_MS } from '../../../store/processes/store-clock.ts'
import { type Finding, failure, ok } from '../../finding.ts'

const SET_THEM = 'set the clocks of these hosts, by NTP (timedatectl, chronyc tracking)'

/**
 * Holds the clocks of all processes that run against Postgres's, by what each last said. Who is right is a matter of
 * votes: hosts that agree with each other and not with Postgres speak against Postgres's clock.
 */
export async function checkClocks(pool: Postgres): Promise<Finding> {
  const known = (await selectProcesses(pool)).flatMap(({ process, kind, clockOffsetMs }) =>
    clockOffsetMs === null ? [] : [{ process, kind, clockOffsetMs }],
  )
  const wrong = known.filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > CLOCK_OFF_MS)
  if (wrong.length === 0) {
    const worst = Math.max(0, ...known.map(({ clockOffsetMs }) => Math.abs(clockOffsetMs)))
    return ok('clock', `${known.length} processes and PostgreSQL agree, within ${Math.ceil(worst)} ms`)
  }
  const named = wrong.map(
    ({ process, kind, clockOffsetMs }) =>
      `${kind} ${process} is ${describeMs(clockOffsetMs)} ${clockOffsetMs > 0 ? 'behind' : 'ahead of'} PostgreSQL`,
  )
  const isFar = wrong.some(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > CLOCK_FAR_MS)
  const effect = isFar ? '; calls take the day of PostgreSQL' : ''
  const mend = isPostgresAlone(known)
    ? 'all of them agree with each other: set the clock of the PostgreSQL host'
    : SET_THEM
  return failure('clock', `${named.join(', ')}${effect}`, mend)
}

type Known = Pick<RunningProcess, 'process'> & { readonly clockOffsetMs: number }

/** At least two hosts, and every one of them away from Postgres by the same. */
function isPostgresAlone(known: readonly Known[]): boolean {
  const offsets = known.map(({ clockOffsetMs }) => clockOffsetMs)
  const hosts = new Set(known.map(({ process }) => process.slice(0, process.lastIndexOf(':'))))
  return hosts.size > 1 && Math.max(...offsets) - Math.min(...offsets) < CLOCK_OFF_MS
}
