import type { CallRecord, OpenCall } from '../../../src/call/call-record.ts'
import { NO_UNITS, NO_USAGE } from '../../../src/call/usage.ts'

/** A UUID that says which call of a test it is. */
export function callId(number: number): string {
  return `${number.toString(16).padStart(8, '0')}-0000-7000-8000-000000000000`
}

export function openCall(number: number): OpenCall {
  return {
    callId: callId(number),
    arrivedAtMs: 1_760_000_000_000 + number,
    clientId: 'client-1',
    keyId: 'key-1',
    upstream: 'openai',
    provider: 'openai',
    method: 'POST',
    path: '/v1/chat/completions',
    requestedModel: 'gpt-4o-mini',
    webSocket: false,
  }
}

export function callRecord(number: number): CallRecord {
  return {
    ...openCall(number),
    reportedModel: 'gpt-4o-mini-2024-07-18',
    model: 'gpt-4o-mini-2024-07-18',
    status: 200,
    outcome: 'complete',
    usageSource: 'reported',
    usage: { ...NO_USAGE, inputTokens: 11, outputTokens: 7 },
    units: NO_UNITS,
    usageRaw: '{"prompt_tokens":11,"completion_tokens":7}',
    latencyUs: 1_234_567,
    ttftUs: 23_456,
    costPico: '5850000',
    priceId: 'openai/gpt-4o-mini',
    price: null,
    responseId: null,
    failedInBody: false,
  }
}

/** As the gateway builds it: the last snapshot is in `usageRaw`. */
export function interruptedRecord(open: OpenCall, snapshot: string | null): CallRecord {
  return {
    ...callRecord(0),
    ...open,
    outcome: 'interrupted',
    usageSource: snapshot === null ? 'none' : 'partial',
    usage: NO_USAGE,
    usageRaw: snapshot,
    status: null,
    latencyUs: null,
    ttftUs: null,
    costPico: null,
    priceId: null,
  }
}
