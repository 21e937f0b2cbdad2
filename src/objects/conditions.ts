import { type Finding, ok, warning } from '../domain/conditions/finding.ts'
import type { Condition } from '../store/conditions/condition.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { countUnsettledJobs } from './table/jobs-table.ts'

/** A batch may take this long. An older job has ended, and its result was never fetched. */
const OVERDUE_MS = 25 * 3_600_000

/** Checks for submitted jobs whose usage was never fetched and is therefore in no total. */
async function checkJobs(pool: Postgres, nowMs: number): Promise<Finding> {
  const { jobs, oldest } = await countUnsettledJobs(pool)
  if (oldest === null) return ok('jobs', 'every submitted job has reported its usage')
  const detail = `${jobs} jobs submitted and never fetched, the oldest ${oldest.kind} ${oldest.id} of client ${oldest.clientName}, ${oldest.createdAt.toISOString()}`
  if (nowMs - oldest.createdAt.getTime() < OVERDUE_MS) return ok('jobs', detail)
  return warning(
    'jobs',
    detail,
    'what they used is in no totals until they are fetched: see tallygate jobs list',
  )
}

export const OBJECT_CONDITIONS: readonly Condition<{ readonly pool: Postgres; readonly nowMs: number }>[] = [
  {
    name: 'jobs',
    place: 'postgres',
    severity: 'note',
    threshold: { value: OVERDUE_MS / 1000, unit: 's' },
    find: ({ pool, nowMs }) => checkJobs(pool, nowMs),
    rules: [
      {
        name: 'JobNotFetched',
        expr: `tallygate_oldest_unsettled_job_seconds > ${OVERDUE_MS / 1000}`,
        severity: 'ticket',
        summary:
          'A job was submitted over a day ago and its result was not fetched: `tallygate jobs list`. `tallygate_unsettled_jobs` says how many there are.',
      },
    ],
  },
]
