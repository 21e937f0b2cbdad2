import type { CallObserver, UpstreamFailure } from '../call/call-ports.ts'
import type { CallRecord, OpenCall } from '../call/call-record.ts'
import type { ClientCounts } from './client-counts.ts'
import { OwnTimeCounts } from './latency-counts.ts'
import { addOne, ModelCounts, UpstreamCounts } from './model-counts.ts'

/** The label of every model that may not be a label itself. */
export const OTHER_MODEL_LABEL = 'other'
/** A pattern in the configuration can price any name, and names come from clients. */
const MAX_MODELS = 200

/**
 * The counters of this process, made to cost well under a microsecond a call: plain numbers that become
 * metrics only at a scrape. Clients and keys are unknown here.
 */
export class CallCounts implements CallObserver {
  readonly #knowsModel: (call: OpenCall, model: string) => boolean
  /** By provider, then upstream: configuration bounds both. */
  readonly upstreams = new Map<string, Map<string, UpstreamCounts>>()
  /** By provider, then model or `OTHER_MODEL_LABEL`. */
  readonly models = new Map<string, Map<string, ModelCounts>>()
  /** By provider, then upstream, then cause. */
  readonly upstreamFailures = new Map<string, Map<string, Map<UpstreamFailure, number>>>()
  /** By provider, then upstream, then why another target was tried. */
  readonly attemptFailures = new Map<string, Map<string, Map<string, number>>>()
  /** By provider. */
  readonly readingFailures = new Map<string, number>()
  readonly totalMismatches = new Map<string, number>()
  readonly suspects = new Map<string, number>()
  readonly costDifferences = new Map<string, number>()
  readonly partlyUnpriced = new Map<string, number>()
  /** The time of calls in this process itself. */
  readonly ownTime = new OwnTimeCounts()
  /** By reason: requests that were refused before their client was known. */
  readonly refusedRequests = new Map<string, number>()
  failures = 0
  unmetered = 0
  /** `null`: no metric names clients. */
  readonly #clients: ClientCounts | null

  /** `knowsModel`: whether the configuration lists a model or there is a price for it. */
  constructor(knowsModel: (call: OpenCall, model: string) => boolean, clients: ClientCounts | null = null) {
    this.#knowsModel = knowsModel
    this.#clients = clients
  }

  /** The ledger reports the open calls, since it also knows those that were never sent. */
  callStarted(): void {}

  callEnded(record: CallRecord): void {
    this.#countsOfUpstream(record).add(record)
    this.#countsOfModel(record).add(record)
    this.#clients?.add(record)
    if (record.suspect === true) addOne(this.suspects, record.provider)
    if (record.costDiffers === true) addOne(this.costDifferences, record.provider)
    if (record.partlyUnpriced === true) addOne(this.partlyUnpriced, record.provider)
  }

  /** The trace of a call that ended is sent. */
  callTraced(record: CallRecord): void {
    this.#countsOfUpstream(record).point(record, Date.now())
  }

  attemptFailed({ provider, upstream }: OpenCall, reason: string): void {
    const byUpstream = within(this.attemptFailures, provider)
    const counts = byUpstream.get(upstream) ?? new Map<string, number>()
    byUpstream.set(upstream, counts)
    addOne(counts, reason)
  }

  callUnmetered(): void {
    this.unmetered += 1
  }

  upstreamFailed({ provider, upstream }: OpenCall, cause: UpstreamFailure): void {
    const byUpstream = within(this.upstreamFailures, provider)
    const counts = byUpstream.get(upstream) ?? new Map<UpstreamFailure, number>()
    byUpstream.set(upstream, counts)
    counts.set(cause, (counts.get(cause) ?? 0) + 1)
  }

  readingFailed(provider: string): void {
    this.readingFailures.set(provider, (this.readingFailures.get(provider) ?? 0) + 1)
  }

  totalMismatch(provider: string): void {
    this.totalMismatches.set(provider, (this.totalMismatches.get(provider) ?? 0) + 1)
  }

  callFailed(): void {
    this.failures += 1
  }

  #countsOfUpstream(record: CallRecord): UpstreamCounts {
    const upstreams = within(this.upstreams, record.provider)
    const found = upstreams.get(record.upstream)
    if (found !== undefined) return found
    const made = new UpstreamCounts()
    upstreams.set(record.upstream, made)
    return made
  }

  #countsOfModel(record: CallRecord): ModelCounts {
    const models = within(this.models, record.provider)
    const found = models.get(record.model)
    if (found !== undefined) return found
    const isLabel = models.size < MAX_MODELS && this.#knowsModel(record, record.model)
    const label = isLabel ? record.model : OTHER_MODEL_LABEL
    const counts = models.get(label) ?? new ModelCounts()
    models.set(label, counts)
    return counts
  }
}

function within<Counts>(byProvider: Map<string, Map<string, Counts>>, provider: string): Map<string, Counts> {
  const found = byProvider.get(provider)
  if (found !== undefined) return found
  const made = new Map<string, Counts>()
  byProvider.set(provider, made)
  return made
}
