import type { ResponseUse } from '../../call/call-record.ts'
import { isObject } from '../../call/codec/json-checks.ts'
import type { Observation, UsagePart } from '../../call/observation.ts'
import { BILLED_UNITS, countsBy, TOKEN_CLASSES } from '../../call/usage.ts'

/** What is left of a call that a crash cuts. */
export interface UsageSnapshot {
  readonly observation: Observation
  readonly status: number
  /** For prices that depend on the client. */
  readonly clientName: string | null
  readonly responseUse: ResponseUse
}

/** A new field does not compile until it is restored, or is listed here: what only a whole answer reports. */
type Restored = Required<Omit<Observation, 'jobs'>>

/** What was observed of a call so far, as text for the journal's open row. */
export function encodeUsageSnapshot({ observation, status, clientName, responseUse }: UsageSnapshot): string {
  const { reportedCostPico, ...rest } = observation
  const cost = reportedCostPico === null ? null : String(reportedCostPico)
  return JSON.stringify({ ...rest, reportedCostPico: cost, status, clientName, responseUse })
}

/** What {@link encodeUsageSnapshot} wrote; `null`: another version wrote the text in another form. */
export function decodeUsageSnapshot(text: string): UsageSnapshot | null {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return null
  }
  // Values are not refused but skipped: whatever is known of the call is better than nothing.
  if (!isObject(json) || !isObject(json.usage) || !isObject(json.units)) return null
  const source = json.usageSource
  if (source !== 'reported' && source !== 'partial' && source !== 'none' && source !== 'invalid') return null
  const { usage, units } = json
  const observation: Restored = {
    usageSource: source,
    usage: countsBy(TOKEN_CLASSES, (name) => numberOrNull(usage[name])),
    units: countsBy(BILLED_UNITS, (name) => numberOrNull(units[name])),
    model: textOrNull(json.model),
    raw: textOrNull(json.raw),
    failed: json.failed === true,
    responseId: textOrNull(json.responseId),
    answerId: textOrNull(json.answerId) ?? undefined,
    pending: json.pending === true,
    // Reported when the answer was read.
    totalMismatch: false,
    reportedCostPico: picoOrNull(json.reportedCostPico),
    serviceTier: textOrNull(json.serviceTier),
    // Without these, a price would be found, and be another than the call's: of one model for all, or of another
    // length of prompt, or of another day.
    parts: partsOrNull(json.parts),
    largestPrompt: json.largestPrompt === undefined ? undefined : numberOrNull(json.largestPrompt),
    madeAtMs: numberOrNull(json.madeAtMs),
  }
  return {
    observation,
    status: typeof json.status === 'number' ? json.status : 200,
    clientName: textOrNull(json.clientName),
    responseUse: json.responseUse === 'fetched' ? 'fetched' : 'created',
  }
}

/** All parts, or `null`: the sum of some would look like the whole. */
function partsOrNull(value: unknown): readonly UsagePart[] | null {
  if (!Array.isArray(value) || value.length === 0) return null
  const parts: UsagePart[] = []
  for (const part of value) {
    if (!isObject(part) || !isObject(part.usage)) return null
    const { model, usage, units } = part
    if (model !== null && typeof model !== 'string') return null
    parts.push({
      model,
      usage: countsBy(TOKEN_CLASSES, (name) => numberOrNull(usage[name])),
      units: isObject(units) ? countsBy(BILLED_UNITS, (name) => numberOrNull(units[name])) : undefined,
      isBeside: part.isBeside === true ? true : undefined,
      isUnread: part.isUnread === true ? true : undefined,
    })
  }
  return parts
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function picoOrNull(value: unknown): bigint | null {
  return typeof value === 'string' && /^\d{1,38}$/.test(value) ? BigInt(value) : null
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
