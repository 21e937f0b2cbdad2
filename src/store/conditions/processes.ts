import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import { describeMs } from '../../domain/duration.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../connection/postgres.ts'
import { HEARTBEAT_LATE_MS, type Heartbeat, selectHeartbeats } from '../processes/processes-table.ts'
import type { Condition } from './condition.ts'

/** A process that is gone for longer has been seen: it is a hint for a day. */
const NEWS_MS = 3_600_000

const REPAIR_SILENCE =
  'see whether they run and reach PostgreSQL, and start them again: a gateway on the host whose disk has its journal; what is gone for good: tallygate processes dismiss HOST:PID'

const nameOf = ({ kind, process }: Heartbeat) => `${kind} ${process}`

/** Those of which nothing was heard, and that no later one of the same host has replaced. */
function silentAmong(heartbeats: readonly Heartbeat[]): readonly Heartbeat[] {
  return heartbeats.filter(
    (one) =>
      one.silentMs > HEARTBEAT_LATE_MS &&
      !heartbeats.some(
        (other) =>
          other.kind === one.kind &&
          other.silentMs <= HEARTBEAT_LATE_MS &&
          other.report !== null &&
          other.report.host === one.report?.host &&
          other.report.startedAtMs > one.report.startedAtMs,
      ),
  )
}

/** How many gateways and workers run, and how many are silent. */
export async function countProcesses(pool: Postgres) {
  const heartbeats = await selectHeartbeats(pool)
  const silent = silentAmong(heartbeats)
  return (['gateway', 'worker'] as const).map((kind) => {
    const living = heartbeats.filter((one) => one.kind === kind && one.silentMs <= HEARTBEAT_LATE_MS)
    const lost = silent.filter((one) => one.kind === kind)
    const agesMs = [...living, ...lost].map(({ silentMs }) => silentMs)
    return {
      kind,
      living: living.length,
      silent: lost.length,
      longestSilentMs: agesMs.length === 0 ? null : Math.max(...agesMs),
    }
  })
}

/** Those that run and have said what they are. */
export async function selectLiving(pool: Postgres) {
  return (await selectHeartbeats(pool)).flatMap((one) =>
    one.silentMs > HEARTBEAT_LATE_MS || one.report === null ? [] : [{ ...one, report: one.report }],
  )
}

async function checkSilence(pool: Postgres): Promise<Finding> {
  const heartbeats = await selectHeartbeats(pool)
  const silent = silentAmong(heartbeats)
  if (silent.length === 0) {
    const living = heartbeats.filter(({ silentMs }) => silentMs <= HEARTBEAT_LATE_MS)
    const gateways = living.filter(({ kind }) => kind === 'gateway').length
    return ok('processes', `${gateways} gateways and ${living.length - gateways} workers say that they run`)
  }
  const named = silent.map((one) => `${nameOf(one)} for ${describeMs(one.silentMs)}`).join(', ')
  const isNews = silent.some(({ silentMs }) => silentMs < NEWS_MS)
  return (isNews ? failure : warning)(
    'processes',
    `silent, and did not say that they stop: ${named}`,
    REPAIR_SILENCE,
  )
}

/** Gateways and workers that ended without a word, or do not reach Postgres. */
async function findSilent(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  return silentAmong(await selectHeartbeats(pool)).map((one) =>
    dailyOccurrence(nameOf(one), day, {
      message: withRepair(
        `The ${nameOf(one)} has been silent for ${Math.floor(one.silentMs / 1000)} s`,
        REPAIR_SILENCE,
      ),
      process: one.process,
      kind: one.kind,
      silent_seconds: Math.floor(one.silentMs / 1000),
    }),
  )
}

/** Groups of processes by something that they should have alike, as text; empty: they have. */
function describeSplit(groups: ReadonlyMap<string, readonly Heartbeat[]>): string {
  if (groups.size < 2) return ''
  return [...groups].map(([value, of]) => `${value}: ${of.map(nameOf).join(', ')}`).join('; ')
}

async function checkReleases(pool: Postgres): Promise<Finding> {
  const byVersion = Map.groupBy(await selectLiving(pool), ({ report }) => report.version)
  const split = describeSplit(byVersion)
  if (split === '')
    return ok('releases', byVersion.size === 0 ? 'no process runs' : `all of ${[...byVersion.keys()][0]}`)
  return failure(
    'releases',
    split,
    'finish the upgrade: migrate, then workers, then gateways, of one release',
  )
}

async function checkConfigurations(pool: Postgres): Promise<Finding> {
  const known = (await selectLiving(pool)).filter(({ report }) => report.configuration !== null)
  const split = describeSplit(Map.groupBy(known, ({ report }) => report.configuration ?? ''))
  if (split === '') return ok('configurations', `${known.length} gateways have one configuration`)
  return failure(
    'configurations',
    `gateways differ: ${split}`,
    'give them one TALLYGATE_CONFIG, then tallygate reload; where variables differ, restart them with the same',
  )
}

export const PROCESSES: Condition = {
  name: 'processes',
  place: 'postgres',
  severity: 'wrong',
  threshold: { value: HEARTBEAT_LATE_MS / 1000, unit: 's' },
  find: ({ pool }) => checkSilence(pool),
  alert: {
    kind: 'silent',
    meaning: 'a gateway or worker ended without a word, or does not reach Postgres',
    ofClient: false,
    when: 'often',
    finders: [({ pool }, { today }) => findSilent(pool, today)],
  },
  rules: [
    {
      name: 'ProcessSilent',
      expr: 'tallygate_processes{state="silent"} > 0',
      severity: 'page',
      summary:
        'A gateway or worker ended without a word, or does not reach PostgreSQL: `tallygate doctor` names it.',
    },
    {
      name: 'NoWorker',
      expr: 'tallygate_processes{kind="worker",state="running"} == 0',
      for: '1m',
      severity: 'page',
      summary: 'No worker runs: calls are taken and not counted.',
    },
  ],
}

export const RELEASES: Condition = {
  name: 'releases',
  place: 'postgres',
  severity: 'wrong',
  find: ({ pool }) => checkReleases(pool),
}

export const CONFIGURATIONS: Condition = {
  name: 'configurations',
  place: 'postgres',
  severity: 'wrong',
  find: ({ pool }) => checkConfigurations(pool),
}
