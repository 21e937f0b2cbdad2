import type { CallRecord } from '../../call/call-record.ts'
import { picoToUsdNumber } from '../../domain/pico-usd.ts'

/** Attributes of a span. Absent values are left out. */
export type Attributes = Record<string, string | number | boolean>

/**
 * Operations by the end of their paths, in the words of the GenAI conventions
 * (https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai). Others have none.
 */
const OPERATIONS: readonly (readonly [RegExp, string])[] = [
  [/\/(?:chat\/completions|messages|responses|converse(?:-stream)?|chat)$/, 'chat'],
  [/\/completions?$/, 'text_completion'],
  [/(?:\/embeddings|:(?:batchE|e)mbedContents?|:predict)$/, 'embeddings'],
  [/:(?:stream)?[gG]enerateContent$|\/interactions$/, 'generate_content'],
]

/** Providers whose names are others in the conventions. */
const PROVIDERS: Readonly<Record<string, string>> = {
  bedrock: 'aws.bedrock',
  'azure-openai': 'azure.ai.openai',
  'azure-ai': 'azure.ai.inference',
  gemini: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  mistral: 'mistral_ai',
  moonshotai: 'moonshot_ai',
  xai: 'x_ai',
}

export function operationOf(path: string): string | null {
  return OPERATIONS.find(([form]) => form.test(path))?.[1] ?? null
}

/** `chat gpt-4o`, as the conventions want it; else the method: a path may have ids in it. */
export function nameOfCall({ path, method, requestedModel }: CallRecord): string {
  const operation = operationOf(path)
  if (operation === null) return method
  return requestedModel === null ? operation : `${operation} ${requestedModel}`
}

/** What is said of a call. Its prompt and its answer are nowhere in it. */
export function attributesOf(record: CallRecord): Attributes {
  const { usage, status, costPico, responseId, answerId, reportedModel, requestedModel, ttftUs } = record
  const operation = operationOf(record.path)
  const costIsProviders = costPico !== null && costPico === record.reportedCostPico
  return present({
    'http.request.method': record.method,
    'url.path': record.path,
    'http.response.status_code': status,
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': PROVIDERS[record.provider] ?? record.provider,
    'gen_ai.request.model': requestedModel,
    'gen_ai.response.model': reportedModel,
    'gen_ai.response.id': responseId ?? answerId ?? null,
    'gen_ai.response.time_to_first_chunk': ttftUs === null ? null : ttftUs / 1_000_000,
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheReadTokens,
    'gen_ai.usage.cache_write.input_tokens': usage.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
    // Proposed: https://github.com/open-telemetry/semantic-conventions-genai/pull/443
    'gen_ai.usage.cost.amount': costPico === null ? null : picoToUsdNumber(BigInt(costPico)),
    'gen_ai.usage.cost.currency': costPico === null ? null : 'USD',
    'gen_ai.usage.cost.source': costPico === null ? null : costIsProviders ? 'provider' : 'local',
    'tallygate.call.id': record.callId,
    'tallygate.client.id': record.clientId,
    'tallygate.key.id': record.keyId,
    'tallygate.upstream': record.upstream,
    'tallygate.outcome': record.outcome,
    'tallygate.usage.source': record.usageSource,
    'tallygate.unpriced.reason': record.unpricedReason ?? null,
  })
}

export function present(values: Readonly<Record<string, string | number | boolean | null>>): Attributes {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(values)) if (value !== null) attributes[name] = value
  return attributes
}
