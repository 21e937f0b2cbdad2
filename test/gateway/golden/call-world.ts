import { createHash } from 'node:crypto'
import type { CallName, SnapshotSource } from '../../../src/call/call-ports.ts'
import type { CallRecord, OpenCall } from '../../../src/call/call-record.ts'
import { serialiseOpenCall, serialiseRecord } from '../../../src/call/codec/record-codec.ts'
import { Unattended } from '../../../src/gateway/proxy/unattended.ts'
import { buildInterrupted } from '../../../src/gateway/recording/finalize-call.ts'
import { buildPricing } from '../../../src/gateway/recording/pricing.ts'
import { ObjectIndex } from '../../../src/objects/object-index.ts'
import { Objects } from '../../../src/objects/objects.ts'
import type { Catalog } from '../../../src/pricing/catalog/catalog.ts'
import type { CallToPrice, PriceOfCall } from '../../../src/pricing/catalog/catalog-call.ts'
import type { Price } from '../../../src/pricing/price.ts'

/** A catalog whose prices repeat all that pricing was given, so that the records show it. */
const MIRROR = {
  priceCall(call: CallToPrice): PriceOfCall {
    const { model, requestedModel, reportedCostPico, serviceTier, usage, units } = call
    if (model === null && requestedModel === null) return { kind: 'unpriced', reason: 'no_model', model }
    const json = JSON.stringify(inOrder(call))
    const id = `mirror.${digestOf([json])}`
    const basis = { basis: 'linear', ...(units.images === null ? {} : { unpriced: ['images'] }) }
    const price = { id, json, definition: basis } as unknown as Price
    if (serviceTier === 'batch') return { kind: 'unpriced', reason: 'unknown_tier', model, tier: price }
    const costPico = BigInt((usage.inputTokens ?? 0) + 2 * (usage.outputTokens ?? 0))
    if (reportedCostPico === null) return { kind: 'priced', costPico, price, priceId: id }
    const reported = { ownCostPico: costPico, differs: reportedCostPico > 1_000_000_000n }
    return { kind: 'priced', costPico: reportedCostPico, price, priceId: id, reported }
  },
  knowsModel: (_provider: string, _upstream: string, model: string) => model.length % 2 === 0,
  listsModel: () => false,
} as Partial<Catalog> as Catalog

/** The same figures in the same words, however they were put together; without what was not counted. */
function inOrder(call: CallToPrice): readonly (readonly [string, unknown])[] {
  return Object.entries(call)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, typeof value === 'bigint' ? `${value}` : countsOf(value)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1))
}

function countsOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, count]) => count !== null))
}

/** Monotonic milliseconds, as calls see them: they pass only when a test says so. */
export const clock = { now: 1_000 }

/** The time after which the journal asks `later`. */
const WRITES_MS = 250

/** A process around calls that keeps every byte which would have gone to its journal. */
export class CallWorld {
  readonly lines: string[] = []
  readonly pricing = buildPricing(MIRROR, { has: () => false }, 50_000n)
  readonly unattended: Unattended
  readonly onClientAbort: 'cancel' | 'drain'
  readonly refused = () => {}
  readonly refusedUnknown = () => {}
  readonly limits = null
  readonly objects = new Objects(new ObjectIndex({ selectOwners: async () => [] }))
  readonly now = () => 1_700_000_000_000
  closeError: Error | null = null
  /** The moment at which the journal asks for running counts. */
  running: 'now' | 'later' | 'never' = 'now'
  ended = 0
  #open: OpenCall | null = null

  /** `waitMs`: how long a call whose client has left goes on without news. */
  constructor(onClientAbort: 'cancel' | 'drain', waitMs: number) {
    this.onClientAbort = onClientAbort
    this.unattended = new Unattended({ usageMs: waitMs, answerMs: waitMs })
  }

  readonly ledger = {
    canTakeCalls: true,
    open: (call: OpenCall, onWritten: (error: null) => void) => {
      this.#open = call
      this.lines.push(`open ${withoutId(serialiseOpenCall(call))}`)
      queueMicrotask(() => onWritten(null))
    },
    saveSnapshot: (_call: CallName, snapshot: SnapshotSource) => {
      const save = () => this.#saved('note', snapshot() ?? '')
      if (this.running === 'now') save()
      else if (this.running === 'later') setTimeout(save, WRITES_MS)
    },
    saveSnapshotNow: (_call: CallName, snapshot: SnapshotSource, onWritten: (error: null) => void) => {
      this.#saved('note now', snapshot() ?? '')
      queueMicrotask(() => onWritten(null))
    },
    close: (record: CallRecord, onWritten: (error: Error | null, sequence: number) => void) => {
      this.lines.push(`record ${withoutId(serialiseRecord(record))}`)
      queueMicrotask(() => {
        onWritten(this.closeError, this.closeError === null ? 1 : 0)
        this.ended += 1
      })
    },
    discard: () => {
      this.lines.push('discard')
      this.ended += 1
    },
  }

  readonly observer = {
    callStarted: () => {},
    callEnded: (record: CallRecord) => this.lines.push(`ended ${record.outcome}`),
    callUnmetered: () => {},
    upstreamFailed: () => {},
    attemptFailed: () => {},
    readingFailed: (provider: string, error: unknown) => this.lines.push(`unread ${provider} ${error}`),
    totalMismatch: (provider: string) => this.lines.push(`mismatch ${provider}`),
    callFailed: (_call: OpenCall, error: unknown) => this.lines.push(`failed ${error}`),
  }

  /** The call as it is known before it goes upstream; what a crash would make of its snapshots is kept too. */
  opened(call: OpenCall): void {
    this.#open = call
  }

  #saved(how: string, snapshot: string): void {
    this.lines.push(`${how} ${snapshot}`)
    if (this.#open === null) return
    const pricing = buildPricing(MIRROR, { has: () => false }, 50_000n)
    this.lines.push(`cut ${withoutId(serialiseRecord(buildInterrupted(this.#open, snapshot, pricing)))}`)
  }
}

/** Ids of calls made by tests' servers are of chance. */
function withoutId(text: string): string {
  return text.replace(/"callId":"[0-9a-f-]{36}"/, '"callId":"-"')
}

/** What many lines say, as a line of its own. */
export function digestOf(lines: readonly string[]): string {
  return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 24)
}
