import { isObject, type JsonObject } from '../../domain/json.ts'
import {
  type AttemptPlace,
  type CallRecord,
  type CallUse,
  type JobUse,
  MAX_BESIDE_MODELS,
  MAX_JOB_USES,
  type ModelCost,
  type OpenCall,
  OUTCOMES,
  RESPONSE_USES,
} from '../call-record.ts'
import {
  MAX_OBJECT_EVENTS,
  MAX_OBJECT_ID_BYTES,
  OBJECT_CHANGES,
  OBJECT_KINDS,
  type ObjectEvent,
} from '../object-event.ts'
import { RECORD_FIELDS, useOf } from '../record-fields.ts'
import { BILLED_UNITS, MAX_COUNT, NO_UNITS, NO_USAGE, TOKEN_CLASSES, USAGE_SOURCES } from '../usage.ts'
import {
  flagFrom,
  integerFrom,
  integerOrAbsent,
  integerOrNull,
  objectFrom,
  picoFrom,
  picoOrAbsent,
  picoOrNull,
  RefusedValue,
  textFrom,
  textOrAbsent,
  textOrNull,
  throwMalformed,
  traceOrAbsent,
  trueOrAbsent,
  uuidFrom,
  wordFrom,
} from './json-checks.ts'

// Each field of `RECORD_FIELDS` has a line that writes it and one that reads it. Derived from the table at run time,
// writing would cost half as much again, and reading a quarter. The compiler names a field that is not read.
// test/call/codec/record-fields.test.ts names one that is not written, or not as the table says.

const { arrivedAtMs, status, latencyUs, ttftUs } = RECORD_FIELDS

const quote = JSON.stringify as (text: string) => string

/**
 * The record as compact JSON: keys in the table's order, without those that say no more than their absence.
 *
 * @param openText what `serialiseOpenCall` made of the same call, which the record begins with; `null`: not at hand.
 */
export function serialiseRecord(record: CallRecord, openText: string | null = null): string {
  let text = openText === null ? openFields(record) : openText.slice(0, -1)
  if (record.reportedModel !== null) text += `,"reportedModel":${quote(record.reportedModel)}`
  text += `,"model":${quote(record.model)}`
  if (record.status !== null) text += `,"status":${record.status}`
  text += `,"outcome":"${record.outcome}"${useFields(record)}`
  if (record.latencyUs !== null) text += `,"latencyUs":${record.latencyUs}`
  if (record.ttftUs !== null) text += `,"ttftUs":${record.ttftUs}`
  if (record.responseId !== null) text += `,"responseId":${quote(record.responseId)}`
  if (record.answerId !== undefined) text += `,"answerId":${quote(record.answerId)}`
  if (record.responseUse !== undefined) text += `,"responseUse":"${record.responseUse}"`
  if (record.chargedPico !== undefined) text += `,"chargedPico":"${record.chargedPico}"`
  if (record.beside !== undefined) text += `,"beside":[${record.beside.map(modelCostFields).join(',')}]`
  if (record.failedInBody) text += ',"failedInBody":true'
  if (record.requestBytes !== undefined) text += `,"requestBytes":${record.requestBytes}`
  if (record.answerBytes !== undefined) text += `,"answerBytes":${record.answerBytes}`
  if (record.objects !== undefined)
    text += `,"objects":[${record.objects.map(serialiseObjectEvent).join(',')}]`
  if (record.jobs !== undefined) text += `,"jobs":[${record.jobs.map(jobFields).join(',')}]`
  return `${text}}`
}

/** The open call as compact JSON, in the form that begins its record. */
export function serialiseOpenCall(call: OpenCall): string {
  return `${openFields(call)}}`
}

function openFields(call: OpenCall): string {
  let text =
    `{"callId":"${call.callId}","arrivedAtMs":${call.arrivedAtMs},"clientId":${quote(call.clientId)}` +
    `,"keyId":${quote(call.keyId)},"upstream":${quote(call.upstream)},"provider":${quote(call.provider)}` +
    `,"method":${quote(call.method)},"path":${quote(call.path)}`
  if (call.requestedModel !== null) text += `,"requestedModel":${quote(call.requestedModel)}`
  if (call.webSocket) text += ',"webSocket":true'
  if (call.traceId !== undefined) text += `,"traceId":"${call.traceId}"`
  if (call.route !== undefined) text += `,"route":${quote(call.route)}`
  if (call.axes !== undefined) text += `,"axes":${quote(call.axes)}`
  return text
}

/** The fields of what was used, but for the models: records and jobs have these in different orders. */
function useFields(use: CallUse): string {
  let text = `,"usageSource":"${use.usageSource}"`
  if (use.usage !== NO_USAGE) text += serialiseCounts('usage', TOKEN_CLASSES, use.usage)
  if (use.units !== NO_UNITS) text += serialiseCounts('units', BILLED_UNITS, use.units)
  if (use.usageRaw !== null) text += `,"usageRaw":${quote(use.usageRaw)}`
  if (use.costPico !== null) text += `,"costPico":"${use.costPico}"`
  if (use.priceId !== null) text += `,"priceId":${quote(use.priceId)}`
  if (use.price !== null) text += `,"price":${quote(use.price)}`
  if (use.serviceTier !== undefined) text += `,"serviceTier":${quote(use.serviceTier)}`
  if (use.reportedCostPico !== undefined) text += `,"reportedCostPico":"${use.reportedCostPico}"`
  if (use.ownCostPico !== undefined) text += `,"ownCostPico":"${use.ownCostPico}"`
  if (use.costDiffers === true) text += ',"costDiffers":true'
  if (use.partlyUnpriced === true) text += ',"partlyUnpriced":true'
  if (use.unpricedReason !== undefined) text += `,"unpricedReason":${quote(use.unpricedReason)}`
  if (use.suspect === true) text += ',"suspect":true'
  return text
}

function jobFields(job: JobUse): string {
  const reported = job.reportedModel === null ? '' : `,"reportedModel":${quote(job.reportedModel)}`
  const file = job.isFile === true ? ',"isFile":true' : ''
  const part = job.partOf === undefined ? '' : `,"partOf":${quote(job.partOf)}`
  const attempt = job.attempt === undefined ? '' : `,"attempt":${attemptFields(job.attempt)}`
  return `{"id":${quote(job.id)}${file}${part}${attempt},"model":${quote(job.model)}${reported}${useFields(job)}}`
}

function attemptFields({ upstream, provider, requestedModel }: AttemptPlace): string {
  const requested = requestedModel === null ? '' : `,"requestedModel":${quote(requestedModel)}`
  return `{"upstream":${quote(upstream)},"provider":${quote(provider)}${requested}}`
}

function modelCostFields({ model, costPico }: ModelCost): string {
  return `{"model":${quote(model)},"costPico":"${costPico}"}`
}

/** Uses that a record will list, as JSON. */
export function serialiseJobUses(uses: readonly JobUse[]): string {
  return `[${uses.map(jobFields).join(',')}]`
}

/** From what `serialiseJobUses` wrote for `open`; `null`: not ours. */
export function parseJobUses(open: OpenCall, text: string): readonly JobUse[] | null {
  try {
    return jobsFrom(open, JSON.parse(text))
  } catch (error) {
    if (error instanceof RefusedValue || error instanceof SyntaxError) return null
    throw error
  }
}

/**
 * A record or gap marker from an entry's body. `null`: not one of ours, whatever its checksum says. Keys it does
 * not know are ignored, so a field that changes what is counted needs a new entry version.
 */
export function parseRecord(body: string): CallRecord | GapMarker | null {
  try {
    const json = objectFrom(body)
    return 'void' in json ? gapMarkerFrom(json.void) : recordFrom(openCallFrom(json), json)
  } catch (error) {
    if (error instanceof RefusedValue) return null
    throw error
  }
}

/** An open call from what `serialiseOpenCall` wrote; `null`: not one of ours. */
export function parseOpenCall(text: string): OpenCall | null {
  try {
    return openCallFrom(objectFrom(text))
  } catch (error) {
    if (error instanceof RefusedValue) return null
    throw error
  }
}

function openCallFrom(json: JsonObject): Required<OpenCall> {
  return {
    callId: uuidFrom(json.callId),
    arrivedAtMs: integerFrom(json.arrivedAtMs, arrivedAtMs.highest),
    clientId: textFrom(json.clientId),
    keyId: textFrom(json.keyId),
    upstream: textFrom(json.upstream),
    provider: textFrom(json.provider),
    method: textFrom(json.method),
    path: textFrom(json.path),
    requestedModel: textOrNull(json.requestedModel),
    webSocket: flagFrom(json.webSocket),
    traceId: traceOrAbsent(json.traceId),
    route: textOrAbsent(json.route),
    axes: textOrAbsent(json.axes),
  }
}

function recordFrom(open: OpenCall, json: JsonObject): Required<CallRecord> {
  return {
    ...open,
    traceId: open.traceId,
    route: open.route,
    axes: open.axes,
    reportedModel: textOrNull(json.reportedModel),
    model: textFrom(json.model),
    usageSource: wordFrom(USAGE_SOURCES, json.usageSource),
    usage: countsFrom(TOKEN_CLASSES, NO_USAGE, json.usage),
    units: countsFrom(BILLED_UNITS, NO_UNITS, json.units),
    usageRaw: textOrNull(json.usageRaw),
    costPico: picoOrNull(json.costPico),
    priceId: textOrNull(json.priceId),
    price: textOrNull(json.price),
    serviceTier: textOrAbsent(json.serviceTier),
    reportedCostPico: picoOrAbsent(json.reportedCostPico),
    ownCostPico: picoOrAbsent(json.ownCostPico),
    costDiffers: trueOrAbsent(json.costDiffers),
    partlyUnpriced: trueOrAbsent(json.partlyUnpriced),
    unpricedReason: textOrAbsent(json.unpricedReason),
    suspect: trueOrAbsent(json.suspect),
    status: integerOrNull(json.status, status.highest),
    outcome: wordFrom(OUTCOMES, json.outcome),
    latencyUs: integerOrNull(json.latencyUs, latencyUs.highest),
    ttftUs: integerOrNull(json.ttftUs, ttftUs.highest),
    responseId: textOrNull(json.responseId),
    answerId: textOrAbsent(json.answerId),
    responseUse: json.responseUse === undefined ? undefined : wordFrom(RESPONSE_USES, json.responseUse),
    chargedPico: picoOrAbsent(json.chargedPico),
    beside: json.beside === undefined ? undefined : modelCostsFrom(json.beside),
    failedInBody: flagFrom(json.failedInBody),
    requestBytes: integerOrAbsent(json.requestBytes, MAX_COUNT),
    answerBytes: integerOrAbsent(json.answerBytes, MAX_COUNT),
    objects: json.objects === undefined ? undefined : objectEventsFrom(json.objects),
    jobs: json.jobs === undefined ? undefined : jobsFrom(open, json.jobs),
  }
}

/** The use of a job has the form of the use of a call, so it is read as such. */
function jobsFrom(open: OpenCall, value: unknown): readonly JobUse[] {
  if (!Array.isArray(value) || value.length > MAX_JOB_USES) return throwMalformed()
  return value.map((job: unknown) => {
    if (!isObject(job) || job.id === '') return throwMalformed()
    const use = useOf(recordFrom(open, { outcome: 'complete', ...job, jobs: undefined }))
    return {
      ...use,
      id: textFrom(job.id),
      ...(job.isFile === true ? { isFile: true } : {}),
      ...(job.partOf === undefined ? {} : { partOf: textFrom(job.partOf) }),
      ...(job.attempt === undefined ? {} : { attempt: attemptFrom(job.attempt) }),
    }
  })
}

function modelCostsFrom(value: unknown): readonly ModelCost[] {
  if (!Array.isArray(value) || value.length > MAX_BESIDE_MODELS) return throwMalformed()
  return value.map((cost: unknown) =>
    isObject(cost) ? { model: textFrom(cost.model), costPico: picoFrom(cost.costPico) } : throwMalformed(),
  )
}

function attemptFrom(value: unknown): AttemptPlace {
  if (!isObject(value)) return throwMalformed()
  return {
    upstream: textFrom(value.upstream),
    provider: textFrom(value.provider),
    requestedModel: textOrNull(value.requestedModel),
  }
}

/** The member `key` of an object, with the counts that are not `null`; empty where all are. */
function serialiseCounts<Name extends string>(
  key: string,
  names: readonly Name[],
  counts: Readonly<Record<Name, number | null>>,
): string {
  let text = ''
  for (const name of names) {
    const count = counts[name]
    if (count !== null) text += text === '' ? `"${name}":${count}` : `,"${name}":${count}`
  }
  return text === '' ? '' : `,"${key}":{${text}}`
}

/** Counts by name; `none`, the very object, where there are none, as readers skip that. Throws `RefusedValue`. */
function countsFrom<Name extends string>(
  names: readonly Name[],
  none: Readonly<Record<Name, number | null>>,
  value: unknown,
): Readonly<Record<Name, number | null>> {
  if (value === undefined) return none
  if (!isObject(value)) return throwMalformed()
  const counts: Record<Name, number | null> = { ...none }
  for (const name of names) counts[name] = integerOrNull(value[name], MAX_COUNT)
  return counts
}

function serialiseObjectEvent({ id, kind, is, job, failed, leftBy, reservedPico }: ObjectEvent): string {
  const ofJob = `${job ? ',"job":true' : ''}${failed === true ? ',"failed":true' : ''}`
  const left = leftBy === undefined ? '' : `,"leftBy":${JSON.stringify(leftBy)}`
  const reserved = reservedPico === undefined ? '' : `,"reservedPico":"${reservedPico}"`
  return `{"id":${JSON.stringify(id)},"kind":"${kind}","is":"${is}"${ofJob}${left}${reserved}}`
}

/** From a record's JSON; throws `RefusedValue`. */
function objectEventsFrom(value: unknown): readonly ObjectEvent[] {
  if (!Array.isArray(value) || value.length > MAX_OBJECT_EVENTS) return throwMalformed()
  return value.map((event: unknown) => {
    if (!isObject(event) || event.id === '') return throwMalformed()
    return {
      id: objectIdFrom(event.id),
      kind: wordFrom(OBJECT_KINDS, event.kind),
      is: wordFrom(OBJECT_CHANGES, event.is),
      job: flagFrom(event.job),
      ...(event.failed === true ? { failed: true } : {}),
      ...(event.leftBy === undefined ? {} : { leftBy: objectIdFrom(event.leftBy) }),
      ...(event.reservedPico === undefined ? {} : { reservedPico: picoFrom(event.reservedPico) }),
    }
  })
}

/** From the JSON of a list of them; `null`: not ours. */
export function parseObjectEvents(value: unknown): readonly ObjectEvent[] | null {
  try {
    return objectEventsFrom(value)
  } catch (error) {
    if (error instanceof RefusedValue) return null
    throw error
  }
}

function objectIdFrom(value: unknown): string {
  const id = textFrom(value)
  return Buffer.byteLength(id) > MAX_OBJECT_ID_BYTES ? throwMalformed() : id
}

/** A body that stands for records that exist nowhere any more: `from` to `to`, both included. */
export interface GapMarker {
  readonly void: { readonly from: number; readonly to: number; readonly reason: string }
}

/** The body of a gap marker's entry. */
export function serialiseGapMarker(from: number, to: number, reason: string): string {
  return `{"void":{"from":${from},"to":${to},"reason":${JSON.stringify(reason)}}}`
}

/** From the value under the key `void`; throws `RefusedValue`. */
function gapMarkerFrom(value: unknown): GapMarker {
  if (!isObject(value)) return throwMalformed()
  const from = integerFrom(value.from, Number.MAX_SAFE_INTEGER)
  const to = integerFrom(value.to, Number.MAX_SAFE_INTEGER)
  const reason = textFrom(value.reason)
  return from >= 1 && from <= to ? { void: { from, to, reason } } : throwMalformed()
}
