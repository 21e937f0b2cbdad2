import type { ResponseHead } from '../dialect.ts'
import {
  addCounts,
  type Count,
  type CountedUsage,
  countUsage,
  firstCount,
  parseCount,
  restOfTotal,
  totalDisagrees,
} from '../reading/counts.ts'
import { arrayIn, type JsonObject, objectIn } from '../reading/json-value.ts'

/** Counts of one Bedrock answer, read. */
export interface BedrockUsage extends CountedUsage {
  readonly totalMismatch: boolean
}

/**
 * `usage` of Converse, ConverseStream's `metadata` event, and Amazon Nova's own answers: `inputTokens` leaves out
 * what was read from and written to the cache, `totalTokens` has it.
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html
 * @returns `null` when it holds no counts
 */
export function converseUsage(usage: JsonObject): BedrockUsage | null {
  const input = parseCount(usage.inputTokens)
  const output = parseCount(usage.outputTokens)
  if (firstCount(input, output) === null) return null
  const cacheRead = parseCount(usage.cacheReadInputTokens ?? usage.cacheReadInputTokenCount)
  const cacheWrite = parseCount(usage.cacheWriteInputTokens ?? usage.cacheWriteInputTokenCount)
  const total = parseCount(usage.totalTokens)
  const counted = countUsage({
    inputTokens: addCounts(input, cacheRead, cacheWrite),
    outputTokens: output ?? restOfTotal(total, input, cacheRead, cacheWrite),
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    cacheWrite5mTokens: cacheWriteFor(usage.cacheDetails, '5m'),
    cacheWrite1hTokens: cacheWriteFor(usage.cacheDetails, '1h'),
  })
  return { ...counted, totalMismatch: totalDisagrees(total, counted.usage) }
}

/** Tokens written to the cache for a lifetime, from a list of `{ttl, inputTokens}`. */
function cacheWriteFor(details: unknown, ttl: string): Count {
  const counts = arrayIn(details).map((detail) => {
    const entry = objectIn(detail)
    return entry?.ttl === ttl ? parseCount(entry.inputTokens) : null
  })
  return addCounts(...counts)
}

/**
 * Counts from `x-amzn-bedrock-*-token-count`, which every InvokeModel answer has, and from the metrics that end
 * its stream: the input is without the cached tokens, as in Converse.
 */
function meteredUsage(
  input: unknown,
  output: unknown,
  cacheRead: unknown,
  cacheWrite: unknown,
): BedrockUsage | null {
  const counts = {
    input: parseCount(input),
    output: parseCount(output),
    cacheRead: parseCount(cacheRead),
    cacheWrite: parseCount(cacheWrite),
  }
  if (firstCount(counts.input, counts.output) === null) return null
  const counted = countUsage({
    inputTokens: addCounts(counts.input, counts.cacheRead, counts.cacheWrite),
    outputTokens: counts.output,
    cacheReadTokens: counts.cacheRead,
    cacheWriteTokens: counts.cacheWrite,
  })
  return { ...counted, totalMismatch: false }
}

const TOKEN_HEADERS = [
  'x-amzn-bedrock-input-token-count',
  'x-amzn-bedrock-output-token-count',
  'x-amzn-bedrock-cache-read-input-token-count',
  'x-amzn-bedrock-cache-write-input-token-count',
] as const

/** The counts that the response's headers say of its tokens, and their text; `null` when they say nothing. */
export function headerUsage(
  headers: ResponseHead['headers'],
): (BedrockUsage & { readonly raw: string }) | null {
  const [input, output, cacheRead, cacheWrite] = TOKEN_HEADERS.map((name) => headers[name])
  const usage = meteredUsage(input, output, cacheRead, cacheWrite)
  if (usage === null) return null
  const said = TOKEN_HEADERS.filter((name) => headers[name] !== undefined)
  return { ...usage, raw: JSON.stringify(Object.fromEntries(said.map((name) => [name, headers[name]]))) }
}

/** `amazon-bedrock-invocationMetrics` of a stream's last event. */
export function invocationMetricsUsage(metrics: JsonObject): BedrockUsage | null {
  return meteredUsage(
    metrics.inputTokenCount,
    metrics.outputTokenCount,
    metrics.cacheReadInputTokenCount,
    metrics.cacheWriteInputTokenCount,
  )
}

/**
 * Counts that Meta's and Amazon's older families write at the root of their answers: Llama
 * (`prompt_token_count`, `generation_token_count`) and Titan (`inputTextTokenCount`, per result `tokenCount`;
 * streamed `totalOutputTextTokenCount`; an embedding generates nothing).
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html
 * @returns `null` when it holds none of these
 */
export function rootUsage(body: JsonObject): BedrockUsage | null {
  const llamaInput = parseCount(body.prompt_token_count)
  const llamaOutput = parseCount(body.generation_token_count)
  const titanInput = parseCount(body.inputTextTokenCount)
  const titanOutput = firstCount(
    parseCount(body.totalOutputTextTokenCount),
    addCounts(...arrayIn(body.results).map((result) => parseCount(objectIn(result)?.tokenCount))),
  )
  const input = firstCount(llamaInput, titanInput)
  const output = firstCount(llamaOutput, titanOutput)
  if (firstCount(input, output) === null) return null
  const isEmbedding = body.embedding !== undefined || body.embeddingsByType !== undefined
  const counted = countUsage({ inputTokens: input, outputTokens: output ?? (isEmbedding ? 0 : null) })
  return { ...counted, totalMismatch: false }
}

/**
 * The tier of an answer, with what it says of its latency. A request that was to be fast and was served as others are
 * says `standard`, and is billed so.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/latency-optimized-inference.html
 */
export function tierServed(tier: string | null, latency: unknown): string | null {
  if (latency !== 'optimized') return tier
  return tier === null ? 'latency_optimized' : `${tier}+latency_optimized`
}

const OPERATION = /\/(?:converse|converse-stream|invoke|invoke-with-response-stream|count-tokens)$/i
const MODEL = /\/model\//i

/**
 * The model a Bedrock path names: `/model/{id}/converse`, the id percent-encoded or not, of a model or of an
 * inference profile, or the ARN of one. `null` when the path is none of a model's.
 */
export function bedrockModelInPath(path: string): string | null {
  // Two patterns: one of both tries all of the rest at each place where it could begin.
  const before = MODEL.exec(path)
  const end = before === null ? -1 : path.search(OPERATION)
  const start = before === null ? 0 : before.index + before[0].length
  return end > start ? bedrockModel(path.slice(start, end)) : null
}

/** Resources whose id is a model's name; the others' ids say nothing without their type. */
const NAMED_BY_ID: ReadonlySet<string> = new Set(['foundation-model', 'inference-profile'])

/**
 * The model an id or ARN means, without region and account: `arn:aws:bedrock:...:inference-profile/us.meta.llama...`
 * is `us.meta.llama...`; a provisioned, custom or imported model or a profile of one's own is `{type}/{id}`.
 */
export function bedrockModel(idOrArn: string): string {
  const resource = /^arn:[^:]*:[^:]*:[^:]*:[^:]*:(.+)$/.exec(idOrArn)?.[1]
  if (resource === undefined) return idOrArn
  const slash = resource.indexOf('/')
  const type = resource.slice(0, slash)
  return slash !== -1 && NAMED_BY_ID.has(type) ? resource.slice(slash + 1) : resource
}

/** Tells whether a path asks for the answer as a stream of events. */
export function isStreamPath(path: string): boolean {
  return /-stream$/i.test(path)
}
