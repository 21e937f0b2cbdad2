import { expect, test } from 'vitest'
import { serviceTierOf } from '../../src/pricing/catalog/catalog-service-tiers.ts'
import type { Provider } from '../../src/providers/registry.ts'
import { selectDialect } from '../../src/providers/registry.ts'

function tierOf(
  provider: Provider,
  path: string,
  answer: object,
  inHead: Readonly<Record<string, string>> = {},
): string | null {
  const dialect = selectDialect(provider, 'POST', path)
  if (dialect === null) throw new Error(`nothing is metered at ${provider} ${path}`)
  const request = { method: 'POST', path, model: null, stream: null }
  const reader = dialect.createReader(request, {
    status: 200,
    headers: { 'content-type': 'application/json', ...inHead },
  })
  reader.push(Buffer.from(JSON.stringify(answer)))
  return reader.end().serviceTier
}

const COUNTS = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 }

test.each<[object, string | null]>([
  [{ trafficType: 'ON_DEMAND' }, 'standard'],
  [{ trafficType: 'ON_DEMAND_PRIORITY' }, 'priority'],
  [{ trafficType: 'ON_DEMAND_OF_TOMORROW' }, 'on_demand_of_tomorrow'],
  [{ trafficType: 'TRAFFIC_TYPE_UNSPECIFIED' }, null],
  // `enum-encoding=int`
  [{ trafficType: 1 }, 'standard'],
  [{ trafficType: 7 }, 'tier_7'],
  [{ serviceTier: 3 }, 'tier_3'],
  [{ serviceTier: 0 }, null],
  [{ serviceTier: 'PRIORITY' }, 'priority'],
  [{}, null],
])('a tier of Google’s that is unknown keeps its name: %j', (said, tier) => {
  const path = '/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:generateContent'
  expect(tierOf('vertex', path, { usageMetadata: { ...COUNTS, ...said } })).toBe(tier)
})

test.each<[string, object, string | null]>([
  ['priority', {}, 'priority'],
  ['PRIORITY', {}, 'priority'],
  ['flex', {}, 'flex'],
  ['standard', {}, 'standard'],
  // Its body says it itself.
  ['standard', { serviceTier: 'PRIORITY' }, 'priority'],
  // No tier: Google has words for whole accounts, too.
  ['paid', {}, null],
])('a tier %s of Gemini’s that only a header says is the call’s, where the body says %j', (word, said, tier) => {
  const head = { 'x-gemini-service-tier': word }
  const answer = { usageMetadata: { ...COUNTS, ...said } }
  expect(tierOf('gemini', '/v1beta/models/gemini-3-flash-preview:generateContent', answer, head)).toBe(tier)
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
  const chat = { id: 'c', choices: [], usage }
  const expected = Object.keys(said).length === 0 ? tier : 'standard'
  expect(tierOf('gemini', '/v1beta/openai/chat/completions', chat, head)).toBe(expected)
})

test.each<[object, string | null]>([
  [{ service_tier: 'standard', speed: 'standard', inference_geo: 'global' }, 'standard'],
  [{ service_tier: 'batch', inference_geo: 'not_available' }, 'batch'],
  [{ service_tier: 'standard', speed: 'fast' }, 'fast'],
  [{ speed: 'fast', inference_geo: 'us' }, 'fast+us'],
  [{ inference_geo: 'us' }, 'standard+us'],
  [{ service_tier: 'standard', inference_geo: 'eu' }, 'standard+eu'],
  [{ service_tier: 'standard', speed: 'fastest' }, 'fastest'],
  [{ service_tier: 'priority', speed: 'fast' }, 'priority+fast'],
  [{ fallback_credit: { status: { type: 'redeemed' } } }, 'standard+fallback_credit'],
  [{ inference_geo: 'us', fallback_credit: { status: { type: 'redeemed' } } }, 'standard+us+fallback_credit'],
  [{ service_tier: 'standard', fallback_credit: { status: { type: 'not_applied' } } }, 'standard'],
  [{}, null],
])('Anthropic’s tier has all that is not usual: %j', (said, tier) => {
  const answer = { model: 'claude-opus-5', usage: { input_tokens: 3, output_tokens: 2, ...said } }
  expect(tierOf('anthropic', '/v1/messages', answer)).toBe(tier)
})

test.each<[string | undefined, string | null]>([
  ['ON_DEMAND_PRIORITY', 'priority'],
  ['PROVISIONED_THROUGHPUT', 'provisioned_throughput'],
  [undefined, null],
])('Google’s tier is read in the usage of OpenAI’s format: %s', (trafficType, tier) => {
  const google = { traffic_type: trafficType }
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, extra_properties: { google } }
  const answer = { model: 'google/gemini-2.5-pro', usage }
  const path = '/v1/projects/p/locations/l/endpoints/openapi/chat/completions'
  expect(serviceTierOf(tierOf('vertex', path, answer))).toBe(tier)
})

test.each<[object, string | null]>([
  [{ performanceConfig: { latency: 'optimized' } }, 'latency_optimized'],
  [{ performanceConfig: { latency: 'optimized' }, serviceTier: { type: 'flex' } }, 'flex+latency_optimized'],
  [{ performanceConfig: { latency: 'standard' } }, null],
])('an answer of Bedrock’s at low latency has a tier of its own: %j', (said, tier) => {
  const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 }
  expect(tierOf('bedrock', '/model/us.meta.llama3-1-70b-instruct-v1:0/converse', { usage, ...said })).toBe(
    tier,
  )
})
