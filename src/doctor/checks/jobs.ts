import { countUnsettledJobs } from '../../objects/table/jobs-table.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type Finding, ok, warning } from '../finding.ts'

/** A batch may take this long. An older job has ended, and its result was never fetched. */
const OVERDUE_MS = 25 * 3_600_000

/** Checks for submitted jobs whose usage was never fetched and is therefore in no total. */
export async function checkJobs(pool: Postgres, nowMs = Date.now()): Promise<Finding> {
  const { jobs, oldest } = await countUnsettledJobs(pool)
  if (oldest === null) return ok('jobs', 'every submitted job has reported its usage')
  const detail = `${jobs} jobs submitted and never fetched, the oldest ${oldest.kind} ${oldest.id} of client ${oldest.clientName}, ${oldest.createdAt.toISOString()}`
  if (nowMs - oldest.createdAt.getTime() < OVERDUE_MS) return ok('jobs', detail)
  return warning('jobs', detail, 'what they used is in no totals until they are fetched: see jobs list')
}
