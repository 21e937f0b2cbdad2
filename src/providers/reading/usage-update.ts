import type { Observation } from '../../call/observation.ts'
import { type BilledUnits, NO_UNITS, NO_USAGE, type TokenUsage } from '../../call/usage.ts'
import { unitsOf } from './billed-units.ts'
import { boundRawUsage, type CountedUsage, observe, saysTokens } from './counts.ts'
import type { JsonObject } from './json-value.ts'

/** The use that one document of a response reports. It says nothing of what is left out or `null`. */
export interface UsageUpdate {
  readonly usage?: (CountedUsage & { readonly totalMismatch?: boolean }) | null
  /** The usage as written, where that is not the one object the plan marks as usage. */
  readonly raw?: string | null
  /** No later document will correct this usage. */
  readonly isFinal?: boolean
  readonly units?: Partial<BilledUnits> | null
  readonly model?: string | null
  readonly serviceTier?: string | null
  readonly failed?: boolean
  readonly responseId?: string | null
  readonly pending?: boolean
  readonly reportedCostPico?: bigint | null
  readonly madeAtMs?: number | null
  /** Its usage is the sum over requests, whose prompts' lengths it does not say. */
  readonly isSum?: boolean
  /** As in {@link Observation}. */
  readonly writtenBytes?: number | null
}

/**
 * Combines documents of which each later usage replaces the earlier one as a whole, and so does each later value of
 * anything else.
 * @param read what one document reports; it gets objects only, and the text of the usage in them
 * @param first what is known before any document, such as from the response's headers
 */
export function createUpdateAccumulator(
  read: (document: JsonObject, raw: string | null) => UsageUpdate | null,
  first: UsageUpdate = {},
): UsageAccumulator {
  let usage: UsageUpdate['usage'] = first.usage ?? null
  let raw = first.raw ?? null
  let isFinal = first.isFinal ?? false
  let units: BilledUnits = unitsOf(first.units)
  // The use that was known before any document is of an answer that is a success.
  let areUnitsReported = !first.units
  let model = first.model ?? null
  let serviceTier = first.serviceTier ?? null
  let failed = first.failed ?? false
  let responseId = first.responseId ?? null
  let pending = first.pending ?? false
  let reportedCostPico: bigint | null = null
  let madeAtMs: number | null = null
  let isSum = false
  let writtenBytes: number | null = null

  return {
    wantsEvery: false,
    add(document, documentRaw, isError) {
      const update = document === null ? null : read(document, documentRaw)
      const hadFailed = failed
      const knownModel = model
      const wasPending = pending
      failed ||= isError || update?.failed === true
      model = update?.model ?? model
      serviceTier = update?.serviceTier ?? serviceTier
      responseId = update?.responseId ?? responseId
      pending = update?.pending ?? pending
      reportedCostPico = update?.reportedCostPico ?? reportedCostPico
      madeAtMs = update?.madeAtMs ?? madeAtMs
      isSum ||= update?.isSum === true
      writtenBytes = update?.writtenBytes ?? writtenBytes
      if (update?.units) {
        units = { ...units, ...update.units }
        areUnitsReported = true
      }
      if (update?.usage) isFinal = update.isFinal ?? false
      if (update !== null && !saysLess(update.usage, usage)) {
        raw = update.raw ?? (update.usage ? documentRaw : raw)
        usage = update.usage ?? usage
      }
      const saysMore = Boolean(update?.usage || update?.units)
      return saysMore || failed !== hadFailed || model !== knownModel || pending !== wasPending
    },
    snapshot: (ended) =>
      observe({
        usageSource: sourceOf(usage, isFinal || (ended && !failed)),
        usage: usage?.usage ?? NO_USAGE,
        totalMismatch: usage?.totalMismatch ?? false,
        raw: raw === null ? null : boundRawUsage(raw),
        units: failed && !areUnitsReported ? NO_UNITS : units,
        model,
        serviceTier,
        failed,
        responseId,
        pending,
        reportedCostPico,
        ...(madeAtMs === null ? {} : { madeAtMs }),
        ...(isSum ? { largestPrompt: null } : {}),
        ...(writtenBytes === null ? {} : { writtenBytes }),
      }),
  }
}

/** Nothing where an earlier usage had counts, or zeros where it had more: that takes nothing back. */
function saysLess(later: UsageUpdate['usage'], earlier: UsageUpdate['usage']): boolean {
  if (!earlier) return false
  return !later || (!later.invalid && isZero(later.usage) && !isZero(earlier.usage))
}

function isZero({ inputTokens, outputTokens }: TokenUsage): boolean {
  return (inputTokens ?? 0) === 0 && (outputTokens ?? 0) === 0
}

function sourceOf(usage: UsageUpdate['usage'], isFinal: boolean): Observation['usageSource'] {
  if (!usage) return 'none'
  if (usage.invalid) return 'invalid'
  return isFinal ? 'reported' : 'partial'
}

/** Counts, if they say anything of input or output. */
export function ifCounted<U extends CountedUsage>(counted: U): U | null {
  return counted.invalid || saysTokens(counted.usage) ? counted : null
}

/** The usage of an embedding or a ranking: it reads tokens and generates none. */
export function withoutOutput<U extends CountedUsage>(counted: U): U {
  const usage: TokenUsage = { ...counted.usage, outputTokens: counted.usage.outputTokens ?? 0 }
  return { ...counted, usage }
}

/** Combines what the JSON documents of one response report: the events of a stream, or the one whole body. */
export interface UsageAccumulator {
  /** Tells whether events that the prefilter passes over are wanted too, for now: until the model's name is known. */
  readonly wantsEvery: boolean
  /**
   * Adds the next document, of which only the format's fields are there; `null`: it is not an object.
   * @param raw the text of the `'usage'` field in it, as the upstream wrote it; `null`: it has none
   * @param isError its event is named `error`
   * @returns whether something new was learned
   */
  add(document: JsonObject | null, raw: string | null, isError: boolean): boolean
  /** The use that was reported so far; `ended`: the body ended as it should, so nothing corrects it any more. */
  snapshot(ended: boolean): Observation
}
