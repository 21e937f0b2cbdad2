import { countUnsettledJobs } from '../../objects/objects-table.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type Finding, ok, warning } from '../finding.ts'

/** Batches may take so long; what is older has ended, and nobody has fetched it. */
const OVERDUE_MS = 25 * 3_600_000

/** Whether jobs were submitted whose use nobody has fetched, so that it is in no totals. */
export async function checkJobs(pool: Postgres, nowMs = Date.now()): Promise<Finding> {
  const { jobs, oldest } = await countUnsettledJobs(pool)
  if (oldest === null) return ok('jobs', 'every job submitted has told what it used')
  const detail = `${jobs} jobs submitted and never fetched, the oldest ${oldest.kind} ${oldest.id} of client ${oldest.clientName}, ${oldest.createdAt.toISOString()}`
  if (nowMs - oldest.createdAt.getTime() < OVERDUE_MS) return ok('jobs', detail)
  return warning('jobs', detail, 'what they used is in no totals until they are fetched: see jobs list')
}
