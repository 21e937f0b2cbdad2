import { NOTHING_OBSERVED, type Observation } from '../../call/observation.ts'
import type { ResponseUse } from '../../call/response-use.ts'
import { BILLED_UNITS, TOKEN_CLASSES } from '../../call/usage.ts'

/** What remains of a call that a crash cuts. */
export interface UsageSnapshot {
  readonly observation: Observation
  readonly status: number
  /** For prices that depend on the client. */
  readonly clientName: string | null
  readonly responseUse: ResponseUse
}

/** What was seen of a call so far, as text for the journal's open row. */
export function encodeUsageSnapshot({ observation, status, clientName, responseUse }: UsageSnapshot): string {
  const { reportedCostPico, ...rest } = observation
  const cost = reportedCostPico === null ? null : String(reportedCostPico)
  return JSON.stringify({ ...rest, reportedCostPico: cost, status, clientName, responseUse })
}

/** What {@link encodeUsageSnapshot} wrote, or `null` when the text is not that (another version wrote it). */
export function decodeUsageSnapshot(text: string): UsageSnapshot | null {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return null
  }
  if (!isObject(json) || !isObject(json.usage) || !isObject(json.units)) return null
  const source = json.usageSource
  if (source !== 'reported' && source !== 'partial' && source !== 'none' && source !== 'invalid') return null
  const { usage, units } = json
  const observation: Observation = {
    ...NOTHING_OBSERVED,
    usageSource: source,
    usage: counts(TOKEN_CLASSES, usage),
    units: counts(BILLED_UNITS, units),
    model: textOrNull(json.model),
    raw: textOrNull(json.raw),
    failed: json.failed === true,
    responseId: textOrNull(json.responseId),
    answerId: textOrNull(json.answerId) ?? undefined,
    pending: json.pending === true,
    reportedCostPico: picoOrNull(json.reportedCostPico),
    serviceTier: textOrNull(json.serviceTier),
  }
  return {
    observation,
    status: typeof json.status === 'number' ? json.status : 200,
    clientName: textOrNull(json.clientName),
    responseUse: json.responseUse === 'fetched' ? 'fetched' : 'created',
  }
}

function counts<Name extends string>(
  names: readonly Name[],
  from: Record<string, unknown>,
): Record<Name, number | null> {
  return Object.fromEntries(
    names.map((name) => [name, typeof from[name] === 'number' ? from[name] : null]),
  ) as Record<Name, number | null>
}

function picoOrNull(value: unknown): bigint | null {
  return typeof value === 'string' && /^\d{1,38}$/.test(value) ? BigInt(value) : null
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
