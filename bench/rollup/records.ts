import { newCallId } from '../../src/call/call-id.ts'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'

const MODELS = ['gpt-4o-2024-08-06', 'gpt-4o-mini-2024-07-18', 'o3-2025-04-16']

export function clientIdOf(client: number): string {
  return `cli_${client.toString(36).padStart(14, '0')}`
}

/** A usual call of a client: priced, reported, some 800 bytes as an entry. Clients take turns, and models within. */
export function recordOf(call: number, clients: number): CallRecord {
  const client = call % clients
  const model = MODELS[Math.floor(call / clients) % MODELS.length] ?? ''
  const inputTokens = 900 + (call % 200)
  const outputTokens = 150 + (call % 90)
  const arrivedAtMs = Date.now()
  return {
    callId: newCallId(arrivedAtMs),
    arrivedAtMs,
    clientId: clientIdOf(client),
    keyId: `key_${client.toString(36).padStart(14, '0')}`,
    upstream: 'openai',
    provider: 'openai',
    method: 'POST',
    path: '/v1/chat/completions',
    requestedModel: model,
    webSocket: false,
    reportedModel: model,
    model,
    status: 200,
    outcome: 'complete',
    usageSource: 'reported',
    usage: { ...NO_USAGE, inputTokens, outputTokens, cacheReadTokens: 512, reasoningTokens: 0 },
    units: NO_UNITS,
    usageRaw:
      `{"prompt_tokens":${inputTokens},"completion_tokens":${outputTokens},"total_tokens":` +
      `${inputTokens + outputTokens},"prompt_tokens_details":{"cached_tokens":512,"audio_tokens":0},` +
      '"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}}',
    latencyUs: 350_000 + (call % 5_000) * 300,
    ttftUs: 180_000 + (call % 1_000) * 40,
    costPico: `${BigInt(inputTokens) * 2_500_000n + BigInt(outputTokens) * 10_000_000n}`,
    priceId: 'openai/gpt-4o-2024-08-06#standard',
    price: null,
    responseId: null,
    answerId: `chatcmpl-${call.toString(36).padStart(29, 'B')}`,
    failedInBody: false,
  }
}
