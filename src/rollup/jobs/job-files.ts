import type { CallRecord, JobUse } from '../../call/call-record.ts'
import { foldObjectId } from '../../call/object-event.ts'
import { selectJobsOfFiles } from '../../objects/table/jobs-table.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { sortedByKey, textOf } from './made-objects.ts'

/**
 * The records with what files reported under the ids of the jobs that left them. A file that no job is known
 * to have left reports nothing: any client may have written it.
 */
export async function readJobFiles(
  session: PostgresSession,
  records: readonly CallRecord[],
): Promise<readonly CallRecord[]> {
  const files = sortedByKey(
    records.flatMap(({ upstream, jobs = [] }) =>
      jobs.flatMap(({ id, isFile }) => (isFile === true ? [{ upstream, foldedId: foldObjectId(id) }] : [])),
    ),
  )
  if (files.length === 0) return records
  const jobOf = new Map((await selectJobsOfFiles(session, files)).map((file) => [textOf(file), file.jobId]))
  return records.map((record) => {
    if (record.jobs === undefined) return record
    const jobs = record.jobs.flatMap((use): readonly JobUse[] => {
      if (use.isFile !== true) return [use]
      const jobId = jobOf.get(textOf({ upstream: record.upstream, foldedId: foldObjectId(use.id) }))
      return jobId === undefined ? [] : [{ ...use, id: jobId, isFile: undefined }]
    })
    return { ...record, jobs }
  })
}
