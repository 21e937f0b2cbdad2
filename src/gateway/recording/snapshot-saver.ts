import type { CallLedger } from '../../call/call-ports.ts'
import type { OpenCall, ResponseUse } from '../../call/call-record.ts'
import { parseObjectEvents, serialiseJobUses } from '../../call/codec/record-codec.ts'
import type { ObjectEvent } from '../../call/object-event.ts'
import type { Observation, PromptLengths, UsagePart } from '../../call/observation.ts'
import { BILLED_UNITS, countsBy, TOKEN_CLASSES } from '../../call/usage.ts'
import { isObject, parsedJson } from '../../domain/json.ts'
import type { UsageReader } from '../../providers/dialect.ts'
import { endpointContextOf } from '../routing/route.ts'
import type { CallContext } from './call-result.ts'

/**
 * How often one stream may be held until its usage is in the journal; later snapshots are saved behind its
 * bytes.
 */
const MAX_HOLDS = 3
/** What passes an answer on to the client, as far as saving its usage depends on it. */
export interface HoldableDelivery {
  /**
   * Whether what the upstream sent last waits for the record, so that its usage needs no snapshot.
   *
   * @param bytes of the answer, with what was sent last
   */
  holdsUpTo(bytes: number): boolean
  readonly isHolding: boolean
  readonly clientGone: boolean
  /** Nothing more is written until {@link release}. */
  hold(): void
  release(): void
}

/**
 * Saves what a stream has reported of its usage so far, so that a crash does not lose it.
 *
 * Final counts are in the journal before the client sees them: a client may take `[DONE]` for the end and be
 * content although the connection was cut after it. Running counts are saved behind their bytes.
 */
export class SnapshotSaver {
  readonly #context: CallContext
  readonly #ledger: CallLedger
  readonly #delivery: HoldableDelivery
  #holds = 0
  /** The journal is going to ask for what is known. */
  #isAsked = false
  #isReadable = true
  #stopped = false

  constructor(context: CallContext, ledger: CallLedger, delivery: HoldableDelivery) {
    this.#context = context
    this.#ledger = ledger
    this.#delivery = delivery
  }

  /** `reader` has seen more of the usage than before. `status` is the answer's. */
  save(reader: UsageReader, status: number): void {
    if (reader.isRunning === true) {
      this.#saveLater(reader, status)
      return
    }
    const observed = reader.peek()
    if (observed.usageSource === 'none') return
    const { isHolding, clientGone } = this.#delivery
    if (observed.usageSource !== 'reported' || this.#holds >= MAX_HOLDS || isHolding || clientGone) {
      this.#saveLater(reader, status)
      return
    }
    this.#holds += 1
    this.#isAsked = false
    this.#delivery.hold()
    const snapshot = () => this.#encode(observed, status)
    this.#ledger.saveSnapshotNow(this.#context.call, snapshot, () => {
      // Once the body has ended, what is held waits for the record instead.
      if (!this.#stopped) this.#delivery.release()
    })
  }

  /** The reader failed: what it saw last is not saved any more. */
  cancelRunning(): void {
    this.#isReadable = false
  }

  /** The answer has ended: its record comes next. */
  stop(): void {
    this.#stopped = true
    this.cancelRunning()
  }

  #saveLater(reader: UsageReader, status: number): void {
    if (this.#isAsked) return
    this.#isAsked = true
    this.#ledger.saveSnapshot(this.#context.call, () => this.#running(reader, status))
  }

  #running(reader: UsageReader, status: number): string | null {
    this.#isAsked = false
    if (!this.#isReadable) return null
    try {
      return this.#encode(reader.peek(), status)
    } catch {
      // Its next push fails too, and reports it.
      return null
    }
  }

  #encode(observation: Observation, status: number): string {
    return encodeSnapshotOf(this.#context, observation, status)
  }
}

/** What is known of a call by now. @param status `null`: it has no answer yet. */
export function encodeSnapshotOf(
  { call, client, dialect, attempt }: Pick<CallContext, 'call' | 'client' | 'dialect' | 'attempt'>,
  observation: Observation,
  status: number | null,
): string {
  const { responseUse } = endpointContextOf(dialect)
  const { clientName } = client
  if (attempt === undefined || attempt.number === 1) {
    return encodeUsageSnapshot({ observation, status, clientName, responseUse })
  }
  const { upstream, provider, path, requestedModel } = call
  const { number, uses } = attempt
  return encodeUsageSnapshot({
    observation,
    status,
    clientName,
    responseUse,
    attempt: { number, upstream, provider, path, requestedModel, uses: serialiseJobUses(uses) },
  })
}

/** What is left of a call that a crash cuts. */
export interface UsageSnapshot {
  readonly observation: Observation
  /** `null`: no answer had come. */
  readonly status: number | null
  /** For prices that depend on the client. */
  readonly clientName: string | null
  readonly responseUse: ResponseUse
  /** What a session has made of objects; absent: nothing, or only its figures say it. */
  readonly objects?: readonly ObjectEvent[] | undefined
  /** The attempt under way; absent: it is the first, which the open call itself tells. */
  readonly attempt?: SnapshotAttempt | undefined
}

/** An attempt after the first, as it differs from the open call. */
interface SnapshotAttempt extends Pick<OpenCall, 'upstream' | 'provider' | 'path' | 'requestedModel'> {
  readonly number: number
  /** The uses of those before it, as `serialiseJobUses` writes them. */
  readonly uses: string
}

/** A new field does not compile until it is restored, or is listed here: what only a whole answer reports. */
/** Of a call that goes on, none is known. */
type Restored = Required<Omit<Observation, 'jobs' | 'hasEstimatedUnits' | 'writtenBytes'>>

/** What was observed of a call so far, as text for the journal's open row. */
export function encodeUsageSnapshot({
  observation,
  status,
  clientName,
  responseUse,
  objects,
  attempt,
}: UsageSnapshot): string {
  const { reportedCostPico, ...rest } = observation
  const cost = reportedCostPico === null ? null : String(reportedCostPico)
  return JSON.stringify({
    ...rest,
    reportedCostPico: cost,
    status,
    clientName,
    responseUse,
    objects,
    attempt,
  })
}

/** What {@link encodeUsageSnapshot} wrote; `null`: another version wrote the text in another form. */
export function decodeUsageSnapshot(text: string): UsageSnapshot | null {
  const json = parsedJson(text)
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
  const attempt = attemptOf(json.attempt)
  const objects = parseObjectEvents(json.objects)
  return {
    observation,
    status: typeof json.status === 'number' ? json.status : attempt === null ? 200 : null,
    clientName: textOrNull(json.clientName),
    responseUse: json.responseUse === 'fetched' ? 'fetched' : 'created',
    ...(objects === null ? {} : { objects }),
    ...(attempt === null ? {} : { attempt }),
  }
}

function attemptOf(value: unknown): SnapshotAttempt | null {
  if (!isObject(value)) return null
  const { number, upstream, provider, path, uses } = value
  if (typeof upstream !== 'string' || typeof provider !== 'string' || typeof path !== 'string') return null
  return {
    number: numberOrNull(number) ?? 1,
    upstream,
    provider,
    path,
    requestedModel: textOrNull(value.requestedModel),
    uses: textOrNull(uses) ?? '[]',
  }
}

/** All parts, or `null`: the sum of some would look like the whole. */
function partsOrNull(value: unknown): readonly UsagePart[] | null {
  if (!Array.isArray(value) || value.length === 0) return null
  const parts: UsagePart[] = []
  for (const part of value) {
    if (!isObject(part) || !isObject(part.usage)) return null
    const { model, usage, units, mayBe } = part
    if (model !== null && typeof model !== 'string') return null
    parts.push({
      model,
      usage: countsBy(TOKEN_CLASSES, (name) => numberOrNull(usage[name])),
      units: isObject(units) ? countsBy(BILLED_UNITS, (name) => numberOrNull(units[name])) : undefined,
      prompts: promptsOrNone(part.prompts),
      serviceTier: part.serviceTier === undefined ? undefined : textOrNull(part.serviceTier),
      isBeside: part.isBeside === true ? true : undefined,
      isUnread: part.isUnread === true ? true : undefined,
      mayBe: Array.isArray(mayBe) ? mayBe.filter((name) => typeof name === 'string') : undefined,
    })
  }
  return parts
}

function promptsOrNone(value: unknown): PromptLengths | undefined {
  if (!isObject(value)) return undefined
  const { shortest, longest } = value
  return typeof shortest === 'number' && typeof longest === 'number' ? { shortest, longest } : undefined
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
