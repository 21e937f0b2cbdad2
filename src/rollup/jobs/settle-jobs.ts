import {
  type CallRecord,
  type CountedCall,
  type JobUse,
  responseUseOf,
  settlementIdOf,
} from '../../call/call-record.ts'
import { foldObjectId, type ObjectEvent } from '../../call/object-event.ts'
import { reportsUse, useOf } from '../../call/record-fields.ts'
import { NO_MODEL, UNKNOWN_MODEL } from '../../domain/model-name.ts'
import { hastenJobs } from '../../objects/table/jobs-table.ts'
import {
  type NewObject,
  type ObjectKey,
  type ObjectMaking,
  selectMakings,
  setObjectsState,
  settleObjects,
} from '../../objects/table/objects-table.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { selectResponses } from '../../store/ledger/claimed-responses.ts'
import { type SettledCall, submitterOf } from '../../usage/daily-key.ts'
import { withoutUsage } from '../../usage/total-by-day.ts'
import { estimatesOf, takenBack } from './kept-estimates.ts'
import { sortedByKey, textOf } from './made-objects.ts'

export interface SettledJobs {
  /**
   * The calls, without use those that only reported what others used; and a settlement for each reported use.
   */
  readonly calls: readonly CountedCall[]
  /** Calls that are unpriced no longer. */
  readonly settled: readonly SettledCall[]
}

const NO_KEYS: readonly never[] = []

/** A job that runs no longer. */
interface EndedJob {
  readonly key: ObjectKey
  /** `left_files`: what it used stands in them. `silent`: it will not be reported. */
  readonly how: 'failed' | 'left_files' | 'silent'
}

/** The jobs whose end the call's answer showed. */
function endedBy(record: CallRecord): readonly EndedJob[] {
  if (record.objects === undefined) return NO_KEYS
  const left = new Set(
    record.objects?.flatMap(({ leftBy }) => (leftBy === undefined ? [] : [foldObjectId(leftBy)])),
  )
  return eventsOf(record, 'ended').map(({ key, event }) => ({
    key,
    how: event.failed === true ? 'failed' : left.has(key.foldedId) ? 'left_files' : 'silent',
  }))
}

/** The events of this kind that the call made, and their objects. */
function eventsOf({ upstream, objects = NO_KEYS }: CallRecord, kind: ObjectEvent['is']) {
  return objects.flatMap((event) =>
    event.is === kind ? [{ key: { upstream, foldedId: foldObjectId(event.id) }, event }] : [],
  )
}

/** A use that is only estimated, or was cut, may be reported better later. */
function isFinal({ usageSource }: Pick<CallRecord, 'usageSource'>): boolean {
  return usageSource === 'reported' || usageSource === 'none'
}

/** The uses that this record tells of work that others submitted. */
function reportedKeys(record: CallRecord): readonly ObjectKey[] {
  if (record.responseId === null && record.jobs === undefined) return NO_KEYS
  const fetched = fetchedKey(record)
  const jobs = (record.jobs ?? []).flatMap((job) =>
    job.isFile === true || job.partOf !== undefined || job.attempt !== undefined
      ? []
      : [objectKeyOf(record, job.id)],
  )
  return fetched === null ? jobs : [fetched, ...jobs]
}

/** The jobs of whose requests this record tells single ones. */
function partlyReportedKeys(record: CallRecord): readonly ObjectKey[] {
  return (record.jobs ?? []).flatMap(({ partOf }) =>
    partOf === undefined ? [] : [objectKeyOf(record, partOf)],
  )
}

/** A response that the call itself had made is its own, whatever id the server, or the client, chose for it. */
function fetchedKey(record: CallRecord): ObjectKey | null {
  const { responseId, objects } = record
  if (responseId === null || !reportsUse(record)) return null
  if ((record.responseUse ?? responseUseOf(record)) !== 'fetched') return null
  const key = objectKeyOf(record, responseId)
  const isOwn = objects?.some(({ id, is }) => is === 'created' && foldObjectId(id) === key.foldedId)
  return isOwn === true ? null : key
}

/** The object of this id at the call's upstream. */
function objectKeyOf({ upstream }: CallRecord, id: string): ObjectKey {
  return { upstream, foldedId: foldObjectId(id) }
}

/**
 * Separates what calls reported of the work of others from the calls. A fetch is its fetcher's request, on
 * its own day. The use that it reported goes to the client and key that submitted the work, on the day of
 * that, without another request. Work that none of our calls submitted is its fetcher's.
 *
 * @param records With the usage of each response counted once: what a record still has is its own to report.
 * @param reporting The same as they came: a job that reports its usage again waits no more either.
 * @param made The objects that these records made.
 */
export async function settleJobs(
  session: PostgresSession,
  records: readonly CallRecord[],
  reported: readonly CallRecord[],
  made: readonly NewObject[],
): Promise<SettledJobs> {
  const keys = sortedByKey(
    records.flatMap((record) => [...reportedKeys(record), ...partlyReportedKeys(record)]),
  )
  const makings = keys.length === 0 ? [] : await selectMakings(session, keys)
  const byKey = new Map(makings.map((making) => [textOf(making), making]))
  const calls = records.flatMap((record) => partedBy(record, byKey))
  return {
    calls: makings.length === 0 ? calls : [...calls, ...takingBack(calls, byKey)],
    settled: await settle(session, reported, made),
  }
}

/** A call and what it reported of others' work. */
function partedBy(record: CallRecord, makings: ReadonlyMap<string, ObjectMaking>): readonly CountedCall[] {
  const key = fetchedKey(record)
  const making = key === null ? undefined : makings.get(textOf(key))
  // Nearly every record: not copied.
  if (making === undefined && record.jobs === undefined) return [record]
  const { jobs = [], ...call } = record
  const uses: JobUse[] = making === undefined ? [] : [{ ...useOf(record), id: record.responseId ?? '' }]
  const own = making === undefined ? call : { ...withoutUsage(call), usageRaw: null, price: null }
  return [
    own,
    ...[...uses, ...jobs].map((use, index) =>
      settlementOf(own, use, index, makings.get(textOf(objectKeyOf(record, use.partOf ?? use.id)))),
    ),
  ]
}

function settlementOf(
  call: CallRecord,
  { id, isFile: _file, partOf: _job, attempt, ...use }: JobUse,
  index: number,
  making: ObjectMaking | undefined,
): CountedCall {
  const { objects: _objects, beside: _beside, ...fetch } = call
  const { clientId, keyId } = call
  const settlement: CountedCall = {
    ...fetch,
    ...use,
    callId: settlementIdOf(call.callId, id, index),
    responseId: id,
    latencyUs: null,
    ttftUs: null,
    webSocket: false,
    failedInBody: false,
    requestBytes: undefined,
    answerBytes: undefined,
    settlement: { reportedBy: call.callId, settles: making?.callId ?? null },
    // It was not answered, and went elsewhere.
    ...(attempt === undefined ? {} : { ...attempt, status: null }),
  }
  if (making === undefined) return settlement
  const isNamed = use.model !== NO_MODEL && use.model !== UNKNOWN_MODEL
  const isFetcher = making.clientId === clientId && making.keyId === keyId
  return {
    ...settlement,
    ...submitterOf(making),
    arrivedAtMs: making.createdAtMs,
    requestedModel: making.model,
    route: making.route ?? undefined,
    axes: making.axes ?? undefined,
    model: isNamed ? use.model : (making.unpricedAs ?? use.model),
    ...(isFetcher ? {} : { fetchedBy: { clientId, keyId } }),
  }
}

/** The entries that take back what jobs were taken to have used, beside their final figures: one for each job. */
function takingBack(
  calls: readonly CountedCall[],
  makings: ReadonlyMap<string, ObjectMaking>,
): readonly CountedCall[] {
  // Estimates of this batch, which the store has not yet.
  const estimates = new Map(
    estimatesOf(calls).map((kept) => [`${textOf(kept)}\0${kept.callId}`, kept.estimate]),
  )
  const taken = new Set<string>()
  return calls.flatMap((call, index): readonly CountedCall[] => {
    const { settlement, responseId } = call
    if (settlement === undefined || responseId === null || !isFinal(call)) return NONE
    const key = textOf(objectKeyOf(call, responseId))
    const making = makings.get(key)
    if (making === undefined || taken.has(key)) return NONE
    const estimate = making.estimate ?? estimates.get(`${key}\0${making.callId}`)
    if (estimate === undefined) return NONE
    taken.add(key)
    return [{ ...call, ...takenBack(estimate), callId: settlementIdOf(call.callId, responseId, index) }]
  })
}

const NONE: readonly CountedCall[] = []

/** Records which jobs have ended, reported what they used, or used nothing, and which objects are gone. */
async function settle(
  session: PostgresSession,
  reported: readonly CallRecord[],
  made: readonly NewObject[],
): Promise<readonly SettledCall[]> {
  const ended = reported.flatMap((record) => endedBy(record))
  const known = sortedByKey([
    ...reported.filter(isFinal).flatMap(reportedKeys),
    ...ended.flatMap(({ key, how }) => (how === 'failed' ? [key] : [])),
    ...(await reportedBefore(session, made)),
  ])
  const settled = known.length === 0 ? [] : await settleObjects(session, known)
  const over = sortedByKey(ended.flatMap(({ key, how }) => (how === 'silent' ? [key] : [])))
  if (over.length > 0) await setObjectsState(session, 'settled', over)
  const waiting = sortedByKey(ended.flatMap(({ key, how }) => (how === 'left_files' ? [key] : [])))
  if (waiting.length > 0) await setObjectsState(session, 'ended', waiting)
  const deleted = sortedByKey(reported.flatMap((record) => eventsOf(record, 'deleted').map((it) => it.key)))
  if (deleted.length > 0) await setObjectsState(session, 'deleted', deleted)
  await hasten(session, reported)
  const providers = new Map(reported.map(({ upstream, provider }) => [upstream, provider]))
  return settled.map(({ upstream, unpricedAs, createdAtMs, callId, ...making }) => ({
    ...submitterOf(making),
    callId,
    arrivedAtMs: createdAtMs,
    axes: making.axes ?? undefined,
    model: unpricedAs,
    upstream,
    provider: providers.get(upstream) ?? '',
  }))
}

/** Has those fetched soon whose results these calls may have read by another door. */
async function hasten(session: PostgresSession, reported: readonly CallRecord[]): Promise<void> {
  const readers = new Map<string, { readonly upstream: string; readonly clientId: string }>()
  const read: ObjectKey[] = []
  for (const record of reported) {
    for (const { key, event } of eventsOf(record, 'read')) {
      read.push(key)
      const { upstream, clientId } = record
      if (!event.job) readers.set(textOf({ upstream, foldedId: clientId }), { upstream, clientId })
    }
  }
  if (read.length > 0) await hastenJobs(session, sortedByKey(read), [...readers.values()])
}

/** Jobs whose fetch was counted before the call that made them: by another gateway, of whose records more waited. */
async function reportedBefore(
  session: PostgresSession,
  made: readonly NewObject[],
): Promise<readonly ObjectKey[]> {
  const jobs = made.flatMap(({ job, upstream, id }) => (job ? [{ upstream, responseId: id }] : []))
  const seen = await selectResponses(session, jobs)
  return seen.map(({ upstream, responseId }) => ({ upstream, foldedId: foldObjectId(responseId) }))
}
