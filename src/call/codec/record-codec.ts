import { type CallRecord, type JobUse, MAX_JOB_USES, type OpenCall, type Outcome } from '../call-record.ts'
import { useOf } from '../job-use.ts'
import { type ObjectEvent, parseObjectEvents } from '../object-event.ts'
import {
  BILLED_UNITS,
  type BilledUnit,
  type BilledUnits,
  MAX_COUNT,
  NO_UNITS,
  NO_USAGE,
  TOKEN_CLASSES,
  type TokenClass,
  type TokenUsage,
  type UsageSource,
} from '../usage.ts'

/** A body that stands for records that exist nowhere any more: `from` to `to`, both included. */
export interface GapMarker {
  readonly void: { readonly from: number; readonly to: number; readonly reason: string }
}

const OUTCOMES: ReadonlySet<string> = new Set<Outcome>([
  'complete',
  'client_aborted',
  'upstream_error',
  'interrupted',
])
const USAGE_SOURCES: ReadonlySet<string> = new Set<UsageSource>([
  'reported',
  'partial',
  'estimated',
  'none',
  'invalid',
])
/** The last millisecond of the year 9999: what a date of four digits can say. */
const LATEST_MS = 253_402_300_799_999
const CALL_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** What `numeric(38,0)` holds. */
const PICO = /^(?:0|[1-9][0-9]{0,37})$/

const quote = JSON.stringify as (text: string) => string

/**
 * The record as compact JSON: keys in a fixed order, without those that are `null`, `false`, or an object of
 * nothing but `null`. Written by hand because it runs for every call and is half the cost of a reduced copy
 * given to `JSON.stringify`.
 */
export function serialiseRecord(record: CallRecord): string {
  let text = openFields(record)
  if (record.reportedModel !== null) text += `,"reportedModel":${quote(record.reportedModel)}`
  text += `,"model":${quote(record.model)}`
  if (record.status !== null) text += `,"status":${record.status}`
  text += `,"outcome":"${record.outcome}"${usageFields(record)}`
  if (record.latencyUs !== null) text += `,"latencyUs":${record.latencyUs}`
  if (record.ttftUs !== null) text += `,"ttftUs":${record.ttftUs}`
  if (record.responseId !== null) text += `,"responseId":${quote(record.responseId)}`
  if (record.answerId !== undefined) text += `,"answerId":${quote(record.answerId)}`
  if (record.responseUse !== undefined) text += `,"responseUse":"${record.responseUse}"`
  if (record.failedInBody) text += ',"failedInBody":true'
  if (record.objects !== undefined) text += `,"objects":[${record.objects.map(objectFields).join(',')}]`
  if (record.jobs !== undefined) text += `,"jobs":[${record.jobs.map(jobFields).join(',')}]`
  return `${text}}`
}

/** What was used, as a record and each of its jobs has it. */
function usageFields(record: Omit<JobUse, 'id' | 'isFile' | 'model' | 'reportedModel'>): string {
  let text = `,"usageSource":"${record.usageSource}"`
  if (record.usage !== NO_USAGE) text += countFields('usage', TOKEN_CLASSES, record.usage)
  if (record.units !== NO_UNITS) text += countFields('units', BILLED_UNITS, record.units)
  if (record.usageRaw !== null) text += `,"usageRaw":${quote(record.usageRaw)}`
  if (record.costPico !== null) text += `,"costPico":"${record.costPico}"`
  if (record.priceId !== null) text += `,"priceId":${quote(record.priceId)}`
  if (record.price !== null) text += `,"price":${quote(record.price)}`
  if (record.serviceTier !== undefined) text += `,"serviceTier":${quote(record.serviceTier)}`
  if (record.reportedCostPico !== undefined) text += `,"reportedCostPico":"${record.reportedCostPico}"`
  if (record.ownCostPico !== undefined) text += `,"ownCostPico":"${record.ownCostPico}"`
  if (record.costDiffers === true) text += ',"costDiffers":true'
  if (record.partlyUnpriced === true) text += ',"partlyUnpriced":true'
  if (record.unpricedReason !== undefined) text += `,"unpricedReason":${quote(record.unpricedReason)}`
  if (record.suspect === true) text += ',"suspect":true'
  return text
}

function jobFields(job: JobUse): string {
  const reported = job.reportedModel === null ? '' : `,"reportedModel":${quote(job.reportedModel)}`
  const file = job.isFile === true ? ',"isFile":true' : ''
  return `{"id":${quote(job.id)}${file},"model":${quote(job.model)}${reported}${usageFields(job)}}`
}

/** The open call as compact JSON, in the form that begins its record. */
export function serialiseOpenCall(call: OpenCall): string {
  return `${openFields(call)}}`
}

/** The body of a void entry. */
export function serialiseGapMarker(from: number, to: number, reason: string): string {
  return `{"void":{"from":${from},"to":${to},"reason":${quote(reason)}}}`
}

/**
 * A record or void from an entry's body. `null`: not one of ours, whatever its checksum says. Keys it does not
 * know are ignored, so a field that changes what is counted needs a new entry version.
 */
export function parseRecord(body: string): CallRecord | GapMarker | null {
  const fields = parseObject(body)
  if (fields === null) return null
  if ('void' in fields) return gapMarkerFrom(fields.void)
  const open = openCallFrom(fields)
  const record = open === null ? null : recordFrom(open, fields)
  if (open === null || record === null || fields.jobs === undefined) return record
  const jobs = jobsFrom(open, fields.jobs)
  return jobs === null ? null : { ...record, jobs }
}

/** What was used in jobs has the form of what was used in a call. */
function jobsFrom(open: OpenCall, value: unknown): readonly JobUse[] | null {
  if (!Array.isArray(value) || value.length > MAX_JOB_USES) return null
  const jobs: JobUse[] = []
  for (const element of value as readonly unknown[]) {
    if (!isObject(element) || typeof element.id !== 'string' || element.id === '') return null
    const used = recordFrom(open, { outcome: 'complete', ...element })
    if (used === null) return null
    jobs.push({ ...useOf(used), id: element.id, ...(element.isFile === true ? { isFile: true } : {}) })
  }
  return jobs
}

function recordFrom(open: OpenCall, fields: Fields): CallRecord | null {
  const {
    reportedModel = null,
    model,
    status = null,
    outcome,
    usageSource,
    usageRaw = null,
    latencyUs = null,
    ttftUs = null,
    costPico = null,
    priceId = null,
    price = null,
    responseId = null,
    answerId,
    serviceTier,
    reportedCostPico,
    ownCostPico,
    costDiffers,
    partlyUnpriced,
    responseUse,
    unpricedReason,
    suspect,
    failedInBody = false,
  } = fields
  const objects = fields.objects === undefined ? undefined : parseObjectEvents(fields.objects)
  const usage = countsFrom(TOKEN_CLASSES, NO_USAGE, fields.usage)
  const units = countsFrom(BILLED_UNITS, NO_UNITS, fields.units)
  if (
    usage === null ||
    units === null ||
    objects === null ||
    typeof model !== 'string' ||
    typeof outcome !== 'string' ||
    typeof usageSource !== 'string' ||
    typeof failedInBody !== 'boolean' ||
    (suspect !== undefined && suspect !== true) ||
    !isPicoOrAbsent(reportedCostPico) ||
    !isPicoOrAbsent(ownCostPico) ||
    !isTrueOrAbsent(costDiffers) ||
    !isTrueOrAbsent(partlyUnpriced) ||
    (serviceTier !== undefined && typeof serviceTier !== 'string') ||
    (unpricedReason !== undefined && typeof unpricedReason !== 'string') ||
    (responseUse !== undefined && responseUse !== 'created' && responseUse !== 'fetched') ||
    !OUTCOMES.has(outcome) ||
    !USAGE_SOURCES.has(usageSource) ||
    !isStringOrNull(reportedModel) ||
    !isStringOrNull(usageRaw) ||
    !isStringOrNull(costPico) ||
    !isStringOrNull(priceId) ||
    !isStringOrNull(price) ||
    !isStringOrNull(responseId) ||
    (answerId !== undefined && typeof answerId !== 'string') ||
    !isIntegerOrNull(status, 999) ||
    !isIntegerOrNull(latencyUs, Number.MAX_SAFE_INTEGER) ||
    !isIntegerOrNull(ttftUs, Number.MAX_SAFE_INTEGER) ||
    (costPico !== null && !PICO.test(costPico))
  ) {
    return null
  }
  return {
    ...open,
    reportedModel,
    model,
    status,
    outcome: outcome as Outcome,
    usageSource: usageSource as UsageSource,
    usage,
    units,
    usageRaw,
    latencyUs,
    ttftUs,
    costPico,
    priceId,
    price,
    responseId,
    answerId,
    serviceTier,
    reportedCostPico,
    ownCostPico,
    costDiffers,
    partlyUnpriced,
    responseUse,
    unpricedReason,
    suspect,
    failedInBody,
    ...(objects === undefined ? {} : { objects }),
  }
}

/** An open call from what `serialiseOpenCall` wrote; `null`: not one of ours. */
export function parseOpenCall(text: string): OpenCall | null {
  const fields = parseObject(text)
  return fields === null ? null : openCallFrom(fields)
}

function openFields(call: OpenCall): string {
  let text =
    `{"callId":"${call.callId}","arrivedAtMs":${call.arrivedAtMs},"clientId":${quote(call.clientId)}` +
    `,"keyId":${quote(call.keyId)},"upstream":${quote(call.upstream)},"provider":${quote(call.provider)}` +
    `,"method":${quote(call.method)},"path":${quote(call.path)}`
  if (call.requestedModel !== null) text += `,"requestedModel":${quote(call.requestedModel)}`
  if (call.webSocket) text += ',"webSocket":true'
  return text
}

function objectFields({ id, kind, is, job, failed, leftBy }: ObjectEvent): string {
  const more = `${failed === true ? ',"failed":true' : ''}${leftBy === undefined ? '' : `,"leftBy":${quote(leftBy)}`}`
  return `{"id":${quote(id)},"kind":"${kind}","is":"${is}"${job ? ',"job":true' : ''}${more}}`
}

function countFields<Name extends string>(
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

type Fields = { readonly [key: string]: unknown }

function parseObject(text: string): Fields | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  return isObject(value) ? value : null
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function openCallFrom(fields: Fields): OpenCall | null {
  const { callId, arrivedAtMs, clientId, keyId, upstream, provider, method, path } = fields
  const { requestedModel = null, webSocket = false } = fields
  if (
    typeof callId !== 'string' ||
    typeof clientId !== 'string' ||
    typeof keyId !== 'string' ||
    typeof upstream !== 'string' ||
    typeof provider !== 'string' ||
    typeof method !== 'string' ||
    typeof path !== 'string' ||
    typeof webSocket !== 'boolean' ||
    !isStringOrNull(requestedModel) ||
    !isInteger(arrivedAtMs, LATEST_MS) ||
    !CALL_ID.test(callId)
  ) {
    return null
  }
  return {
    callId,
    arrivedAtMs,
    clientId,
    keyId,
    upstream,
    provider,
    method,
    path,
    requestedModel,
    webSocket,
  }
}

function gapMarkerFrom(value: unknown): GapMarker | null {
  if (!isObject(value)) return null
  const { from, to, reason } = value
  if (typeof reason !== 'string') return null
  if (!isInteger(from, Number.MAX_SAFE_INTEGER) || !isInteger(to, Number.MAX_SAFE_INTEGER)) return null
  return from >= 1 && from <= to ? { void: { from, to, reason } } : null
}

function countsFrom(names: readonly TokenClass[], none: TokenUsage, value: unknown): TokenUsage | null
function countsFrom(names: readonly BilledUnit[], none: BilledUnits, value: unknown): BilledUnits | null
function countsFrom(
  names: readonly (TokenClass | BilledUnit)[],
  none: TokenUsage | BilledUnits,
  value: unknown,
): object | null {
  if (value === undefined) return none
  if (!isObject(value)) return null
  const counts: { [name: string]: number | null } = { ...none }
  for (const name of names) {
    const count = value[name] ?? null
    if (!isIntegerOrNull(count, MAX_COUNT)) return null
    counts[name] = count
  }
  return counts
}

function isStringOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

function isInteger(value: unknown, highest: number): value is number {
  return Number.isInteger(value) && typeof value === 'number' && value >= 0 && value <= highest
}

function isIntegerOrNull(value: unknown, highest: number): value is number | null {
  return value === null || isInteger(value, highest)
}

function isPicoOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && PICO.test(value))
}

function isTrueOrAbsent(value: unknown): value is true | undefined {
  return value === undefined || value === true
}
