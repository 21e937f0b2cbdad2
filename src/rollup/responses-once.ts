import type { CallRecord, JobUse } from '../call/call-record.ts'
import { responseUseOf } from '../call/call-record.ts'
import { foldObjectId } from '../call/object-event.ts'
import { reportsUse } from '../call/record-fields.ts'
import { utcDayOf } from '../domain/utc-day.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { claimResponses, type ResponseName, selectResponses } from '../store/ledger/claimed-responses.ts'
import { addCollisions } from '../usage/calls/response-collisions.ts'
import { withoutUsage } from '../usage/total-by-day.ts'
import { textOf } from './jobs/made-objects.ts'

/**
 * Ends the names of responses whose usage was not reported: estimates count once, too, but claim nothing of
 * the figures.
 */
const ESTIMATED = '#estimated'

/**
 * The records as they count. A record that had a response made counts whatever its id, and claims the id. A
 * record that fetched a response counts only where no record had claimed it, before or in this batch: else it
 * is a request without usage. The same holds for each job that a record reports.
 *
 * An estimate claims a name of its own, and a fetch of it counts only while that response is not reported. A
 * response that was made under the id of a job claims nothing either: what that job used is still to be
 * reported.
 *
 * @param jobsMadeAgain Jobs whose ids some of these calls made again, as `textOf` names them, with the calls
 * that made them first.
 */
export async function countResponsesOnce(
  session: PostgresSession,
  records: readonly CallRecord[],
  jobsMadeAgain: ReadonlyMap<string, string>,
): Promise<readonly CallRecord[]> {
  const named = new Map<string, NamedRecords>()
  const namedBy = (name: ResponseName): NamedRecords => {
    const key = keyOf(name)
    const of = named.get(key) ?? { name, created: [] }
    named.set(key, of)
    return of
  }
  const ofJobs: CallRecord[] = []
  for (const record of records) {
    const name = responseNameOf(record)
    if (name !== null && isOfAnothersJob(record, jobsMadeAgain)) ofJobs.push(record)
    else if (name !== null) {
      const of = namedBy(name)
      if (useOf(record) === 'created') of.created.push(record)
    }
    for (const { id } of record.jobs ?? []) namedBy({ upstream: record.upstream, responseId: id })
  }
  if (ofJobs.length > 0) await addCollisions(session, ofJobs.map(collisionOf))
  if (named.size === 0) return records
  const sorted = [...named].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, of]) => of)
  const claimed = await claimResponses(
    session,
    sorted.map(({ name }) => name),
  )
  const unspent = new Set(claimed.map(keyOf))
  await countCollisions(session, sorted, unspent)
  // A response made in this batch is spent by that, wherever in the batch its fetches stand.
  for (const { name, created } of sorted) if (created.length > 0) unspent.delete(keyOf(name))
  const reported = sorted.map(({ name }) => reportedNameOf(name)).filter((name) => name !== null)
  for (const name of await selectResponses(session, reported)) unspent.delete(`${keyOf(name)}${ESTIMATED}`)
  return records.map((record) => {
    const name = responseNameOf(record)
    const isOwn = name === null || useOf(record) === 'created'
    const counted = isOwn || unspent.delete(keyOf(name)) ? record : withoutUsage(record)
    return record.jobs === undefined ? counted : { ...counted, jobs: unspentOf(record, unspent) }
  })
}

/** The uses that a record reports of jobs that were not reported before; a job of several models is one. */
function unspentOf({ upstream, jobs = [] }: CallRecord, unspent: Set<string>): readonly JobUse[] {
  const own = new Set<string>()
  return jobs.filter(({ id }) => {
    if (unspent.delete(keyOf({ upstream, responseId: id }))) own.add(id)
    return own.has(id)
  })
}

interface NamedRecords {
  readonly name: ResponseName
  readonly created: CallRecord[]
}

/** Ids that were made twice must not lose a call, but the operator has to know of them. */
async function countCollisions(
  session: PostgresSession,
  responses: readonly NamedRecords[],
  unspent: ReadonlySet<string>,
): Promise<void> {
  const again = responses.flatMap(({ name, created }) =>
    unspent.has(keyOf(name)) ? created.slice(1) : created,
  )
  if (again.length === 0) return
  await addCollisions(session, again.map(collisionOf))
}

function collisionOf({ arrivedAtMs, upstream }: CallRecord) {
  return { day: utcDayOf(arrivedAtMs), upstream }
}

/** Tells whether it had a response made under the id of a job that another call had submitted. */
function isOfAnothersJob(record: CallRecord, jobsMadeAgain: ReadonlyMap<string, string>): boolean {
  if (jobsMadeAgain.size === 0 || useOf(record) !== 'created') return false
  const { upstream, responseId, callId } = record
  const making = jobsMadeAgain.get(textOf({ upstream, foldedId: foldObjectId(responseId ?? '') }))
  return making !== undefined && making !== callId
}

function keyOf({ upstream, responseId }: ResponseName): string {
  return `${upstream}\0${responseId}`
}

function useOf(record: CallRecord) {
  return record.responseUse ?? responseUseOf(record)
}

/** The name of the response whose usage this record brings; `null`: it brings none, or none that may come again. */
function responseNameOf(record: CallRecord): ResponseName | null {
  const { upstream, responseId, usageSource } = record
  if (responseId === null || !reportsUse(record)) return null
  // Who cuts an answer has it estimated, and must not have what a fetch then reports for nothing.
  return {
    upstream,
    responseId:
      usageSource === 'reported' || usageSource === 'none' ? responseId : `${responseId}${ESTIMATED}`,
  }
}

/** The name of what was reported of the same response; `null`: it is that itself. */
function reportedNameOf({ upstream, responseId }: ResponseName): ResponseName | null {
  return responseId.endsWith(ESTIMATED)
    ? { upstream, responseId: responseId.slice(0, -ESTIMATED.length) }
    : null
}
