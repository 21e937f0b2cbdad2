import type { CallRecord, JobUse } from '../../call/call-record.ts'
import { foldObjectId } from '../../call/object-event.ts'
import { reportedNoFigures } from '../../call/unpriced-reason.ts'
import { canonicalPath } from '../../domain/canonical-path.ts'
import { dropEstimates, selectJobsOfFiles } from '../../objects/table/jobs-table.ts'
import {
  addObjects,
  type NewObject,
  type ObjectKey,
  selectMakings,
} from '../../objects/table/objects-table.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { submitterOf } from '../../usage/daily-key.ts'

export interface MadeObjects {
  /** The objects that were to be added, each id once. */
  readonly made: readonly NewObject[]
  /** Jobs whose ids are made a second time here, as `textOf` names them, with the calls that made them first. */
  readonly jobsMadeAgain: ReadonlyMap<string, string>
}

/** Adds the objects that these calls made, in the order in which rows are locked. */
export async function addMadeObjects(
  session: PostgresSession,
  records: readonly CallRecord[],
): Promise<MadeObjects> {
  const { made, again } = madeBy(records)
  if (made.length === 0) return { made, jobsMadeAgain: new Map() }
  const added = new Set((await addObjects(session, made)).map(textOf))
  const known = sortedByKey([...made.filter((object) => !added.has(textOf(object))), ...again])
  if (known.length === 0) return { made, jobsMadeAgain: new Map() }
  await dropEstimates(session, known)
  const jobs = (await selectMakings(session, known)).filter(({ job }) => job)
  return { made, jobsMadeAgain: new Map(jobs.map((job) => [textOf(job), job.callId])) }
}

function madeBy(records: readonly CallRecord[]): {
  readonly made: readonly NewObject[]
  /** Objects whose ids were made before among these records. */
  readonly again: readonly ObjectKey[]
} {
  const made = new Map<string, NewObject>()
  const again: ObjectKey[] = []
  for (const record of records) {
    // One of them stands for the call, so that its being unpriced is taken back once.
    let unpricedAs = isUnpriced(record) ? record.model : null
    for (const { id, kind, is, job, leftBy, reservedPico } of record.objects ?? []) {
      if (is !== 'created') continue
      const key = { upstream: record.upstream, foldedId: foldObjectId(id) }
      if (made.has(textOf(key))) {
        again.push(key)
        continue
      }
      made.set(textOf(key), {
        ...key,
        id,
        kind,
        ...submitterOf(record),
        callId: record.callId,
        // The paths below it, and that which tells its use, are found by this one form.
        path: canonicalPath(record.path) ?? record.path,
        model: record.requestedModel,
        route: record.route ?? null,
        axes: record.axes ?? null,
        createdAtMs: record.arrivedAtMs,
        job,
        unpricedAs: job ? unpricedAs : null,
        leftBy: leftBy === undefined ? null : foldObjectId(leftBy),
        reservedPico: reservedPico ?? null,
      })
      if (job) unpricedAs = null
    }
  }
  return { made: sortedByKey([...made.values()]), again }
}

/** For the want of figures: they come with its job. */
function isUnpriced({ costPico, priceId, unpricedReason }: CallRecord): boolean {
  return costPico === null && priceId === null && reportedNoFigures(unpricedReason)
}

/** Each once, in the one order in which rows are locked. */
export function sortedByKey<Key extends ObjectKey>(keys: readonly Key[]): readonly Key[] {
  const byText = new Map(keys.map((key) => [textOf(key), key]))
  return [...byText].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, key]) => key)
}

/** The name of an object, as one text. */
export function textOf({ upstream, foldedId }: ObjectKey): string {
  return `${upstream}\0${foldedId}`
}

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
