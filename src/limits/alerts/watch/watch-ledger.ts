import { describeMs } from '../../../domain/duration.ts'
import type { UtcDay } from '../../../domain/utc-day.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import type { StreamBacklog } from '../../../store/connection/redis-state.ts'
import { SCHEMA } from '../../../store/connection/schema.ts'
import { COUNTING_LATE_MS } from '../../../store/ledger/counting-late.ts'
import { type GatewayJournal, selectGatewayJournals } from '../../../store/ledger/gateway-journals.ts'
import { selectProcesses } from '../../../store/processes/processes-table.ts'
import { CLOCK_OFF_MS } from '../../../store/processes/store-clock.ts'
import type { Occurrence } from '../raise-alerts.ts'

/** Records that are missing and have not come since, by producer and the day on which that was found. */
export async function findGaps(pool: Postgres, fromDay: UtcDay): Promise<readonly Occurrence[]> {
  const { rows } = await pool.query<{ day: UtcDay; producer: string; records: string; reason: string }>(
    `select (recorded_at at time zone 'UTC')::date as day, producer, sum(to_seq - from_seq + 1) as records, min(reason) as reason
     from ${SCHEMA}.ledger_gaps where filled_at is null and recorded_at >= $1::timestamp at time zone 'UTC'
     group by 1, 2 order by 1, 2`,
    [fromDay],
  )
  return rows.map(({ day, producer, records, reason }) =>
    occurrence('gap', producer, day, {
      message: `${records} records of producer ${producer} are missing (${reason}): see ledger gaps.`,
      producer,
      records: Number(records),
      reason,
    }),
  )
}

/** Records that could not be counted and have not been since, by stream and the day on which they came. */
export async function findDeadLetters(pool: Postgres, fromDay: UtcDay): Promise<readonly Occurrence[]> {
  const { rows } = await pool.query<{ day: UtcDay; stream: string; records: string }>(
    `select (at at time zone 'UTC')::date as day, stream, count(*) as records from ${SCHEMA}.dead_letters
     where resolved_at is null and at >= $1::timestamp at time zone 'UTC' group by 1, 2 order by 1, 2`,
    [fromDay],
  )
  return rows.map(({ day, stream, records }) =>
    occurrence('dead_letters', stream, day, {
      message: `${records} records of ${stream} could not be counted: see dead-letters list.`,
      stream,
      records: Number(records),
    }),
  )
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
          occurrence('backlog', stream, day, {
            message: `${entries} records on ${stream} wait to be counted, the oldest for ${secondsOf(oldestMs)} s.`,
            stream,
            records: entries,
            oldest_seconds: secondsOf(oldestMs),
          }),
        ],
  )
}

/** Journals that are half full, and records that wait in one for too long, as where Redis is away. */
export async function findWaitingJournals(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const journals = await selectGatewayJournals(pool)
  return journals.flatMap((journal) => [...halfFull(journal, day), ...waiting(journal, day)])
}

type NamedJournal = GatewayJournal & { readonly gateway: string }

function halfFull({ gateway, uncommittedBytes, maxBytes }: NamedJournal, day: UtcDay): readonly Occurrence[] {
  if (uncommittedBytes * 2 < maxBytes) return []
  const percent = Math.floor((uncommittedBytes / maxBytes) * 100)
  return [
    occurrence('journal', gateway, day, {
      message: `The journal of gateway ${gateway} is ${percent} % full; full, it refuses calls.`,
      gateway,
      uncommitted_bytes: uncommittedBytes,
      max_bytes: maxBytes,
    }),
  ]
}

function waiting(
  { gateway, uncommittedRecords, oldestUncommittedMs }: NamedJournal,
  day: UtcDay,
): readonly Occurrence[] {
  if (oldestUncommittedMs < COUNTING_LATE_MS) return []
  const seconds = secondsOf(oldestUncommittedMs)
  return [
    occurrence('backlog', gateway, day, {
      message: `${uncommittedRecords} records in the journal of gateway ${gateway} are not counted, the oldest for ${seconds} s.`,
      gateway,
      records: uncommittedRecords,
      oldest_seconds: seconds,
    }),
  ]
}

/** Processes whose clocks are off, by themselves or because Postgres's is. */
export async function findWrongClocks(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const processes = await selectProcesses(pool)
  return processes.flatMap(({ process, kind, clockOffsetMs }) =>
    clockOffsetMs === null || Math.abs(clockOffsetMs) <= CLOCK_OFF_MS
      ? []
      : [
          occurrence('clock', `${kind} ${process}`, day, {
            message: `The clock of ${kind} ${process} and Postgres's differ by ${describeMs(clockOffsetMs)}: see doctor.`,
            process,
            offset_seconds: Math.round(clockOffsetMs / 1000),
          }),
        ],
  )
}

/** No worker has announced itself for as long as a record may wait, also where there are no calls. */
export function noWorkerRuns(day: UtcDay): Occurrence {
  return occurrence('backlog', 'workers', day, {
    message: 'No worker runs: calls are recorded, and none is counted until one is started.',
    workers: 0,
  })
}

/** What the nightly verification found. */
export function booksDiffer(differences: number, since: UtcDay, day: UtcDay): Occurrence {
  return occurrence('books', 'totals', day, {
    message: `Totals since ${since} differ from what they are made of: see ledger verify.`,
    differences,
    since,
  })
}

function occurrence(
  kind: Occurrence['kind'],
  subject: string,
  period: UtcDay,
  payload: Occurrence['payload'],
): Occurrence {
  return { kind, subject, period, threshold: 0, clientId: null, payload: { ...payload, day: period } }
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000)
}
