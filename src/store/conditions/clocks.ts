import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok } from '../../domain/conditions/finding.ts'
import { describeMs } from '../../domain/duration.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../connection/postgres.ts'
import { type RunningProcess, selectProcesses } from '../processes/processes-table.ts'
import { CLOCK_FAR_MS, CLOCK_OFF_MS } from '../processes/store-clock.ts'
import type { Condition } from './condition.ts'

const SET_THEM = 'set the clocks of these hosts, by NTP (timedatectl, chronyc tracking)'

/**
 * Holds the clocks of all processes that run against Postgres's, by what each last said. Who is right is a matter of
 * votes: hosts that agree with each other and not with Postgres speak against Postgres's clock.
 */
async function checkClocks(pool: Postgres): Promise<Finding> {
  const known = await selectKnown(pool)
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
  return failure('clock', `${named.join(', ')}${effect}`, repairOf(known))
}

function repairOf(known: readonly Known[]): string {
  return isPostgresAlone(known)
    ? 'all of them agree with each other: set the clock of the PostgreSQL host'
    : SET_THEM
}

type Known = Pick<RunningProcess, 'process'> & { readonly clockOffsetMs: number }

/** At least two hosts, and every one of them away from Postgres by the same. */
function isPostgresAlone(known: readonly Known[]): boolean {
  const offsets = known.map(({ clockOffsetMs }) => clockOffsetMs)
  const hosts = new Set(known.map(({ process }) => process.slice(0, process.lastIndexOf(':'))))
  return hosts.size > 1 && Math.max(...offsets) - Math.min(...offsets) < CLOCK_OFF_MS
}

/** Processes that run and have seen Postgres's clock. */
async function selectKnown(pool: Postgres) {
  return (await selectProcesses(pool)).flatMap(({ process, kind, clockOffsetMs }) =>
    clockOffsetMs === null ? [] : [{ process, kind, clockOffsetMs }],
  )
}

/** Processes whose clocks are off, by themselves or because Postgres's is. */
export async function findWrongClocks(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const known = await selectKnown(pool)
  return known.flatMap(({ process, kind, clockOffsetMs }) =>
    Math.abs(clockOffsetMs) <= CLOCK_OFF_MS
      ? []
      : [
          dailyOccurrence(`${kind} ${process}`, day, {
            message: withRepair(
              `The clock of ${kind} ${process} and Postgres's differ by ${describeMs(clockOffsetMs)}`,
              repairOf(known),
            ),
            process,
            offset_seconds: Math.round(clockOffsetMs / 1000),
          }),
        ],
  )
}

export const CLOCKS: Condition = {
  name: 'clock',
  place: 'postgres',
  severity: 'wrong',
  threshold: { value: CLOCK_OFF_MS / 1000, unit: 's' },
  find: ({ pool }) => checkClocks(pool),
  event: 'clock.off',
  alert: {
    kind: 'clock',
    meaning: 'the clock of a gateway or worker differs from that of Postgres',
    ofClient: false,
    when: 'each minute',
    finders: [({ pool }, { today }) => findWrongClocks(pool, today)],
  },
  readiness: { item: 'clock', lacks: ({ clockOff }) => clockOff },
  gauges: [
    {
      name: 'tallygate_clock_offset_seconds',
      help: "How far Postgres's clock is ahead of this process's, negative: behind; NaN: not known.",
      aggregator: 'first',
      read: ({ clockOffsetMs }) => (clockOffsetMs ?? Number.NaN) / 1000,
    },
  ],
  rules: [
    {
      name: 'ClockOff',
      expr: `abs(tallygate_clock_offset_seconds) > ${CLOCK_OFF_MS / 1000}`,
      for: '1m',
      severity: 'page',
      summary:
        "The clock of that machine is wrong, or PostgreSQL's: see docs/operations.md, A clock is wrong.",
    },
  ],
}
