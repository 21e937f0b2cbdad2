import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok } from '../../domain/conditions/finding.ts'
import { streamName } from '../../domain/redis/redis-names.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Condition, StorePorts } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { readStreamBacklog, type StreamBacklog } from '../../store/connection/redis-state.ts'
import { COUNTING_LATE_MS } from '../../store/ledger/counting-late.ts'
import { selectGatewayJournals } from '../../store/ledger/gateway-journals.ts'
import { selectStreams } from '../../store/ledger/ledger-database.ts'

const LATE_SECONDS = COUNTING_LATE_MS / 1000
const REPAIR = 'start a worker (npm run worker), or see why it does not keep up in its log'

/** What waits on each stream. */
async function readBacklogs(ports: StorePorts): Promise<ReadonlyMap<string, StreamBacklog>> {
  const redis = await ports.redis()
  // Without Postgres the streams are unknown, but the first one always exists.
  const streams = await selectStreams(ports.pool).catch(() => [streamName(ports.redisPrefix, 0)])
  const read = streams.map(async (stream) => [stream, await readStreamBacklog(redis, stream)] as const)
  return new Map(await Promise.all(read))
}

/** Checks that no record waits in a stream for too long. */
async function checkBacklog(ports: StorePorts): Promise<Finding> {
  const backlogs = [...(await readBacklogs(ports)).values()]
  const entries = backlogs.reduce((sum, backlog) => sum + backlog.entries, 0)
  const oldestMs = Math.max(0, ...backlogs.map((backlog) => backlog.oldestMs))
  const detail = `${entries} records wait to be rolled up, the oldest for ${Math.ceil(oldestMs / 1000)} s`
  if (oldestMs < COUNTING_LATE_MS)
    return ok('backlog', entries === 0 ? 'no record waits to be rolled up' : detail)
  return failure('backlog', detail, REPAIR)
}

/** What waits on streams for too long. */
export function findOldBacklogs(
  backlogs: ReadonlyMap<string, StreamBacklog>,
  day: UtcDay,
): readonly Occurrence[] {
  return [...backlogs].flatMap(([stream, { entries, oldestMs }]) =>
    oldestMs < COUNTING_LATE_MS
      ? []
      : [
          dailyOccurrence(stream, day, {
            message: withRepair(
              `${entries} records on ${stream} wait to be counted, the oldest for ${secondsOf(oldestMs)} s`,
              REPAIR,
            ),
            stream,
            records: entries,
            oldest_seconds: secondsOf(oldestMs),
          }),
        ],
  )
}

/** Records that wait in a journal for too long, as where Redis is away. */
export async function findWaitingJournals(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const journals = await selectGatewayJournals(pool)
  return journals
    .filter(({ oldestUncommittedMs }) => oldestUncommittedMs >= COUNTING_LATE_MS)
    .map(({ gateway, uncommittedRecords, oldestUncommittedMs }) => {
      const seconds = secondsOf(oldestUncommittedMs)
      return dailyOccurrence(gateway, day, {
        message: `${uncommittedRecords} records in the journal of gateway ${gateway} are not counted, the oldest for ${seconds} s.`,
        gateway,
        records: uncommittedRecords,
        oldest_seconds: seconds,
      })
    })
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000)
}

export const COUNTING: Condition = {
  name: 'backlog',
  place: 'redis',
  severity: 'wrong',
  threshold: { value: LATE_SECONDS, unit: 's' },
  find: checkBacklog,
  alert: {
    kind: 'backlog',
    meaning: 'records wait too long to be counted, or no worker runs',
    ofClient: false,
    when: 'each minute',
    finders: [
      ({ pool }, { today }) => findWaitingJournals(pool, today),
      async (ports, { today }) => findOldBacklogs(await readBacklogs(ports), today),
    ],
  },
  readiness: {
    item: 'counting',
    lacks: ({ oldestUncommittedMs }) => oldestUncommittedMs >= COUNTING_LATE_MS,
  },
  gauges: [
    {
      name: 'tallygate_ledger_oldest_uncommitted_seconds',
      help: 'How long the oldest of those records has waited; 0 when there is none.',
      aggregator: 'max',
      read: ({ oldestUncommittedMs }) => oldestUncommittedMs / 1000,
    },
  ],
  rules: [
    {
      name: 'CountingLate',
      expr: `tallygate_ledger_oldest_uncommitted_seconds > ${LATE_SECONDS}`,
      for: '1m',
      severity: 'page',
      summary:
        'Records are not counted: Redis, PostgreSQL or all workers are away. Nothing is lost until the journal is full.',
    },
  ],
  failsWorker: checkBacklog,
}
