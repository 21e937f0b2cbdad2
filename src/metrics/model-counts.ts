import type { CallRecord, Outcome } from '../call/call-record.ts'
import { isUnpricedReason, UNPRICED_REASONS } from '../call/unpriced-reason.ts'
import { NO_USAGE, TOKEN_CLASSES, type UsageSource } from '../call/usage.ts'
import { LatencyCounts } from './latency-counts.ts'

const OUTCOMES = [
  'complete',
  'client_aborted',
  'upstream_error',
  'interrupted',
] as const satisfies readonly Outcome[]
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const
const SOURCES = [
  'reported',
  'partial',
  'estimated',
  'none',
  'invalid',
] as const satisfies readonly UsageSource[]

const OUTCOME_INDEX = indexOf(OUTCOMES)
const SOURCE_INDEX = indexOf(SOURCES)
const REASON_INDEX = indexOf(UNPRICED_REASONS)

export class UpstreamCounts {
  readonly latency = new LatencyCounts()
  readonly firstByte = new LatencyCounts()
  /** By outcome, then class of status, then source of usage. */
  readonly #calls = new Float64Array(OUTCOMES.length * STATUS_CLASSES.length * SOURCES.length)

  add(record: CallRecord): void {
    const status = record.status === null ? 0 : Math.min(5, Math.max(1, Math.floor(record.status / 100)))
    const index =
      (OUTCOME_INDEX[record.outcome] * STATUS_CLASSES.length + status) * SOURCES.length +
      SOURCE_INDEX[record.usageSource]
    this.#calls[index] = (this.#calls[index] ?? 0) + 1
    if (record.webSocket) return
    if (record.latencyUs !== null) this.latency.add(record.latencyUs)
    if (record.ttftUs !== null) this.firstByte.add(record.ttftUs)
  }

  /** Its durations point to its trace. */
  point({ traceId, webSocket, latencyUs, ttftUs }: CallRecord, atMs: number): void {
    if (traceId === undefined || webSocket) return
    if (latencyUs !== null) this.latency.point({ traceId, us: latencyUs, atMs })
    if (ttftUs !== null) this.firstByte.point({ traceId, us: ttftUs, atMs })
  }

  /** The combinations that occurred. */
  *calls(): Generator<{ outcome: string; status_class: string; usage_source: string; count: number }> {
    let index = 0
    for (const outcome of OUTCOMES) {
      for (const status_class of STATUS_CLASSES) {
        for (const usage_source of SOURCES) {
          const count = this.#calls[index] ?? 0
          index += 1
          if (count > 0) yield { outcome, status_class, usage_source, count }
        }
      }
    }
  }
}

/** Counts of one model of one provider. */
export class ModelCounts {
  /** In the order of `TOKEN_CLASSES`. */
  readonly tokens = new Float64Array(TOKEN_CLASSES.length)
  costPico = 0n
  /** In the order of `UNPRICED_REASONS`, and one more for all others. */
  readonly unpriced = new Float64Array(UNPRICED_REASONS.length + 1)

  add(record: CallRecord): void {
    const { usage, costPico, unpricedReason } = record
    if (usage !== NO_USAGE) {
      for (let index = 0; index < TOKEN_CLASSES.length; index += 1) {
        const name = TOKEN_CLASSES[index]
        const count = name === undefined ? null : usage[name]
        if (count !== null && count > 0) this.tokens[index] = (this.tokens[index] ?? 0) + count
      }
    }
    if (costPico === null) {
      const index = isUnpricedReason(unpricedReason) ? REASON_INDEX[unpricedReason] : UNPRICED_REASONS.length
      this.unpriced[index] = (this.unpriced[index] ?? 0) + 1
    }
    if (costPico !== null && costPico !== '0') this.costPico += BigInt(costPico)
  }
}

function indexOf<Word extends string>(words: readonly Word[]): Readonly<Record<Word, number>>
function indexOf(words: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(words.map((word, index) => [word, index]))
}

export function addOne(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
