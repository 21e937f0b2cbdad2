import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type LedgerStatus, selectLedgerStatus } from '../../store/ledger/ledger-status.ts'

/** A gap younger than this is an error, an older one a hint. */
const NEWS_DAYS = 7

const REPAIR_GAPS =
  'start a gateway on the disk that has their journal; if it is lost, so are they: tallygate ledger gaps, tallygate reconcile'
const REPAIR_DEAD_LETTERS = 'see why: tallygate dead-letters list; then tallygate dead-letters retry --all'

/** Checks for gaps. One older than a week has been seen and stays listed. */
function checkGaps({ gapCount, missingRecords, gaps }: LedgerStatus): Finding {
  const newest = gaps[0]
  if (newest === undefined) return ok('gaps', 'no record is missing')
  const of = `of producer ${newest.producer} (${newest.reason}), ${newest.recordedAt.toISOString()}`
  return okOrWarning(
    'gaps',
    newest.recordedAt,
    `${missingRecords} records are missing in ${gapCount} gaps, the last one ${of}`,
    REPAIR_GAPS,
  )
}

function checkDeadLetters({ deadLetters, newestDeadLetterAt }: LedgerStatus): Finding {
  if (newestDeadLetterAt === null) return ok('dead letters', 'every record could be counted')
  return okOrWarning(
    'dead letters',
    newestDeadLetterAt,
    `${deadLetters} records could not be counted, the last one ${newestDeadLetterAt.toISOString()}`,
    REPAIR_DEAD_LETTERS,
  )
}

/** An old gap that cannot be filled must not hide a new one. */
function okOrWarning(name: string, at: Date, detail: string, mend: string): Finding {
  const isNews = Date.now() - at.getTime() < NEWS_DAYS * 86_400_000
  return (isNews ? failure : warning)(name, detail, mend)
}

/** Records that are missing and have not come since, by producer and the day on which that was found. */
export async function findGaps(pool: Postgres, fromDay: UtcDay): Promise<readonly Occurrence[]> {
  const { rows } = await pool.query<{ day: UtcDay; producer: string; records: string; reason: string }>(
    `select (recorded_at at time zone 'UTC')::date as day, producer, sum(to_seq - from_seq + 1) as records, min(reason) as reason
     from ${SCHEMA}.ledger_gaps where filled_at is null and recorded_at >= $1::timestamp at time zone 'UTC'
     group by 1, 2 order by 1, 2`,
    [fromDay],
  )
  return rows.map(({ day, producer, records, reason }) =>
    dailyOccurrence(producer, day, {
      message: withRepair(`${records} records of producer ${producer} are missing (${reason})`, REPAIR_GAPS),
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
    dailyOccurrence(stream, day, {
      message: withRepair(`${records} records of ${stream} could not be counted`, REPAIR_DEAD_LETTERS),
      stream,
      records: Number(records),
    }),
  )
}

export const GAPS: Condition = {
  name: 'gaps',
  place: 'postgres',
  severity: 'wrong',
  threshold: { value: NEWS_DAYS, unit: 'days' },
  find: async ({ pool }) => checkGaps(await selectLedgerStatus(pool)),
  alert: {
    kind: 'gap',
    meaning: 'records are missing',
    ofClient: false,
    when: 'each minute',
    finders: [({ pool }, { fromDay }) => findGaps(pool, fromDay)],
  },
  rules: [
    {
      name: 'RecordsMissing',
      expr: 'delta(tallygate_missing_records[1h]) > 0',
      severity: 'page',
      summary:
        'Records are missing: start a gateway on the disk that has their journal. `tallygate ledger gaps` has the list.',
    },
  ],
}

export const DEAD_LETTERS: Condition = {
  name: 'dead letters',
  place: 'postgres',
  severity: 'wrong',
  threshold: { value: NEWS_DAYS, unit: 'days' },
  find: async ({ pool }) => checkDeadLetters(await selectLedgerStatus(pool)),
  alert: {
    kind: 'dead_letters',
    meaning: 'records could not be counted',
    ofClient: false,
    when: 'each minute',
    finders: [({ pool }, { fromDay }) => findDeadLetters(pool, fromDay)],
  },
  rules: [
    {
      name: 'RecordsNotCounted',
      expr: 'tallygate_dead_letters > 0',
      severity: 'ticket',
      summary:
        'Records could not be counted: `tallygate dead-letters list` says why, then `dead-letters retry --all`.',
    },
  ],
}
