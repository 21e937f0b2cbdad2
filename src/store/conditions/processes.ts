import { setTimeout as delay } from 'node:timers/promises'
import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import { describeMs } from '../../domain/duration.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { VERSION } from '../../lib/version.ts'
import type { Postgres } from '../connection/postgres.ts'
import { HEARTBEAT_LATE_MS, type Heartbeat, selectHeartbeats } from '../processes/processes-table.ts'
import type { Condition } from './condition.ts'

/** A process that is gone for longer has been seen: it is a hint for a day. */
const NEWS_MS = 3_600_000

const REPAIR_SILENCE =
  'on its host, see whether it runs (ps -p PID) and reaches PostgreSQL; end one that hangs (kill -9 PID), and start it again, a gateway on the disk of its journal; what is gone for good: tallygate processes dismiss HOST:PID'

const nameOf = ({ kind, process }: Heartbeat) => `${kind} ${process}`

const isLate = ({ silentMs }: Heartbeat) => silentMs > HEARTBEAT_LATE_MS

/** Longer than a process takes to say that it runs, once Postgres is there again. */
const RETURN_MS = 2_500

/**
 * Those of which nothing was heard while others could say that they run. Without such a witness Postgres may have been
 * away: then all are late, and say so within a second of its return.
 */
function silentAmong(heartbeats: readonly Heartbeat[]): readonly Heartbeat[] {
  const isWitness = (one: Heartbeat) => !isLate(one) && (one.report?.steadyMs ?? 0) > RETURN_MS
  return heartbeats.some(isWitness) ? heartbeats.filter(isLate) : []
}

/** The same; where no process says anything, those that are still silent after a moment. */
async function selectSilent(pool: Postgres): Promise<{
  readonly silent: readonly Heartbeat[]
  readonly heartbeats: readonly Heartbeat[]
}> {
  const heartbeats = await selectHeartbeats(pool)
  if (heartbeats.length === 0 || !heartbeats.every(isLate))
    return { silent: silentAmong(heartbeats), heartbeats }
  await delay(RETURN_MS)
  const later = await selectHeartbeats(pool)
  return { silent: later.every(isLate) ? later : silentAmong(later), heartbeats: later }
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
    isLate(one) || one.report === null ? [] : [{ ...one, report: one.report }],
  )
}

async function checkSilence(pool: Postgres): Promise<Finding> {
  const { silent, heartbeats } = await selectSilent(pool)
  if (silent.length === 0) {
    const living = heartbeats.filter((one) => !isLate(one))
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
  const named = [...groups].map(([value, of]) =>
    [value, of.map(nameOf).join(', ')].filter(Boolean).join(': '),
  )
  return named.join('; ')
}

/** A report that this release cannot read is of another one. */
const OTHER_RELEASE = 'another release'

async function checkReleases(pool: Postgres): Promise<Finding> {
  const living = (await selectHeartbeats(pool)).filter((one) => !isLate(one))
  const byVersion = Map.groupBy(living, ({ report }) => report?.version ?? OTHER_RELEASE)
  if (byVersion.has(OTHER_RELEASE) && !byVersion.has(VERSION)) byVersion.set(`${VERSION} (this command)`, [])
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
    when: 'at once',
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
