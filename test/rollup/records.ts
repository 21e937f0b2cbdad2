import { randomBytes, randomUUID } from 'node:crypto'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { encodeEntry, serialiseGapMarker, serialiseRecord } from '../../src/ledger/entry.ts'
import type { Candidate } from '../../src/rollup/rolled-up.ts'
import type { Redis } from '../../src/store/connection/redis.ts'

export const quiet = { info() {}, warn() {}, error() {} }

/** A priced, reported call of 100 and 20 tokens that arrived now, with what `changes` says otherwise. */
export function aRecord(changes: Partial<CallRecord> = {}): CallRecord {
  return {
    callId: randomUUID(),
    arrivedAtMs: Date.now(),
    clientId: 'cli_a',
    keyId: 'key_a',
    upstream: 'openai',
    provider: 'openai',
    method: 'POST',
    path: '/v1/chat/completions',
    requestedModel: 'gpt-4o',
    webSocket: false,
    reportedModel: 'gpt-4o-2024-08-06',
    model: 'gpt-4o-2024-08-06',
    status: 200,
    outcome: 'complete',
    usageSource: 'reported',
    usage: { ...NO_USAGE, inputTokens: 100, outputTokens: 20 },
    units: NO_UNITS,
    usageRaw: '{"prompt_tokens":100,"completion_tokens":20}',
    latencyUs: 1_500,
    ttftUs: 700,
    costPico: '450000000',
    priceId: 'openai/gpt-4o#std',
    price: null,
    responseId: null,
    failedInBody: false,
    ...changes,
  }
}

export function newProducer(): string {
  return randomBytes(16).toString('hex')
}

let nextId = 1

/** The record as an entry that was read and believed. */
export function aCandidate(producer: string, sequence: number, record: CallRecord = aRecord()): Candidate {
  return {
    id: `1-${nextId++}`,
    producer,
    sequence,
    body: serialiseRecord(record),
    record,
    from: sequence,
    to: sequence,
    gapReason: null,
  }
}

export function aGapMarker(producer: string, from: number, to: number, reason = 'journal_pruned'): Candidate {
  const body = serialiseGapMarker(from, to, reason)
  return { id: `1-${nextId++}`, producer, sequence: to, body, record: null, from, to, gapReason: reason }
}

/** An entry whose body is not a record, although its checksum would hold. */
export function aForeignEntry(producer: string, sequence: number, body = '{"hello":"world"}'): Candidate {
  return { ...aCandidate(producer, sequence), record: null, body }
}

/** Appends the records as a gateway does, numbered from `first`. */
export async function append(
  redis: Redis,
  stream: string,
  producer: string,
  first: number,
  records: readonly CallRecord[],
): Promise<void> {
  const pipeline = redis.pipeline()
  for (const [index, record] of records.entries()) {
    pipeline.xadd(stream, '*', ...encodeEntry(producer, first + index, serialiseRecord(record)))
  }
  for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error
}
