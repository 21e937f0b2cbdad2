import {
  addCounts,
  type Count,
  type CountedUsage,
  type Counts,
  countUsage,
  firstCount,
  parseCount,
  restOfTotal,
} from '../reading/counts.ts'
import { type JsonObject, member } from '../reading/json-value.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'

/** OpenAI-style usage in the normal form. `total`: the sum that the provider itself wrote. */
export interface OpenAiUsage extends CountedUsage {
  readonly total: Count
}

/**
 * Reads `usage` of chat completions, completions and embeddings.
 * Source: OpenAI's API reference, "The chat completion object"; the other names of the same things are DeepSeek's
 * (`prompt_cache_hit_tokens`), Mistral's (`num_cached_tokens`), Together's and Moonshot's (`cached_tokens`),
 * LiteLLM's (`cache_creation_tokens`), Vercel's and Databricks' (`cache_creation_input_tokens`), Azure's DeepSeek
 * (`reasoning_tokens` at the root) and Writer's (`prompt_token_details`). Servers that speak several formats answer at times
 * with the counts of another: the names of the Responses API are read where chat's own are missing.
 */
export function chatUsage(
  usage: JsonObject,
  overrides: Pick<OpenAiOverrides, 'correct'>,
  model: string | null,
): OpenAiUsage {
  const input =
    member(usage, 'prompt_tokens_details') ??
    member(usage, 'prompt_token_details') ??
    member(usage, 'input_tokens_details') ??
    {}
  const output = member(usage, 'completion_tokens_details') ?? member(usage, 'output_tokens_details') ?? {}
  const counts: Counts = {
    inputTokens: firstCount(parseCount(usage.prompt_tokens), otherInput(usage)),
    outputTokens: firstCount(parseCount(usage.completion_tokens), parseCount(usage.output_tokens)),
    cacheReadTokens: firstCount(
      parseCount(input.cached_tokens),
      parseCount(usage.prompt_cache_hit_tokens),
      parseCount(usage.num_cached_tokens),
      parseCount(usage.cached_tokens),
      ifPositive(parseCount(usage.cache_read_input_tokens)),
    ),
    cacheWriteTokens: firstCount(
      parseCount(input.cache_write_tokens),
      parseCount(input.cache_creation_tokens),
      parseCount(usage.cache_creation_input_tokens),
    ),
    ...cacheWritesByLifetime(input),
    reasoningTokens: firstCount(parseCount(output.reasoning_tokens), parseCount(usage.reasoning_tokens)),
    audioInputTokens: parseCount(input.audio_tokens),
    audioOutputTokens: parseCount(output.audio_tokens),
    imageInputTokens: parseCount(input.image_tokens),
    imageOutputTokens: parseCount(output.image_tokens),
    videoInputTokens: ifPositive(parseCount(input.video_tokens)),
  }
  return withTotal(withRest(overrides.correct?.(counts, usage, model) ?? counts, usage), usage)
}

/**
 * Reads `usage` of the Responses API, image generation and transcriptions: `input_tokens`, `output_tokens` and
 * their details (transcriptions spell it `input_token_details`, realtime too).
 * Source: OpenAI's API reference, "The response object", "Create image", "Create transcription".
 */
export function responsesUsage(usage: JsonObject): OpenAiUsage {
  const input =
    member(usage, 'input_tokens_details') ??
    member(usage, 'input_token_details') ??
    member(usage, 'prompt_tokens_details') ??
    {}
  const output =
    member(usage, 'output_tokens_details') ??
    member(usage, 'output_token_details') ??
    member(usage, 'completion_tokens_details') ??
    {}
  const cached = member(input, 'cached_tokens_details')
  const counts: Counts = {
    inputTokens: firstCount(parseCount(usage.input_tokens), parseCount(usage.prompt_tokens)),
    outputTokens: firstCount(parseCount(usage.output_tokens), parseCount(usage.completion_tokens)),
    cacheReadTokens: parseCount(input.cached_tokens),
    cacheWriteTokens: parseCount(input.cache_write_tokens),
    ...cacheWritesByLifetime(input),
    reasoningTokens: parseCount(output.reasoning_tokens),
    audioInputTokens: parseCount(input.audio_tokens),
    audioOutputTokens: parseCount(output.audio_tokens),
    imageInputTokens: parseCount(input.image_tokens),
    imageOutputTokens: parseCount(output.image_tokens),
    cacheReadAudioTokens: parseCount(cached?.audio_tokens),
    cacheReadImageTokens: parseCount(cached?.image_tokens),
  }
  return withTotal(withRest(counts, usage), usage)
}

/**
 * How long what was written to the cache is kept: half an hour, which is what a write costs anyway, or twelve.
 * Source: OpenAI's guide "Prompt caching"; the names as in LiteLLM 1.109.1's types.
 */
function cacheWritesByLifetime(input: JsonObject): Pick<Counts, 'cacheWrite12hTokens'> {
  return { cacheWrite12hTokens: parseCount(member(input, 'cache_write_tokens_details')?.ttl_12h_tokens) }
}

/** Reads usage of endpoints that generate nothing: embeddings and rerankers, some of which write a total alone. */
export function promptOnlyUsage(usage: JsonObject): OpenAiUsage {
  const details = member(usage, 'prompt_tokens_details') ?? {}
  const inputTokens = firstCount(
    parseCount(usage.prompt_tokens),
    parseCount(usage.input_tokens),
    parseCount(usage.total_tokens),
  )
  const counts: Counts = {
    inputTokens,
    outputTokens: inputTokens === null ? null : firstCount(parseCount(usage.completion_tokens), 0),
    cacheReadTokens: parseCount(details.cached_tokens),
    audioInputTokens: parseCount(details.audio_tokens),
    imageInputTokens: parseCount(details.image_tokens),
  }
  return withTotal(counts, usage)
}

/** Reasoning that the provider left out of the output belongs to it. */
export function addReasoning(counts: Counts): Counts {
  return { ...counts, outputTokens: addCounts(counts.outputTokens ?? null, counts.reasoningTokens ?? null) }
}

/** How much a usage object says of tokens: nothing, or zeros alone, or what counts. */
export function weightOf(usage: JsonObject): 0 | 1 | 2 {
  const { prompt_tokens, completion_tokens, input_tokens, output_tokens, total_tokens } = usage
  const counts = [prompt_tokens, completion_tokens, input_tokens, output_tokens, total_tokens]
  if (counts.some((count) => count !== undefined && count !== null && Number(count) !== 0)) return 2
  return counts.some((count) => count !== undefined && count !== null) ? 1 : 0
}

/**
 * The input of an answer that has not chat's own names. Where the cached tokens stand under Anthropic's, so does the
 * input: beside them, unless the total says that they are part of it.
 */
function otherInput(usage: JsonObject): Count {
  const input = parseCount(usage.input_tokens)
  if (input === null) return null
  const cached = addCounts(
    parseCount(usage.cache_read_input_tokens),
    parseCount(usage.cache_creation_input_tokens),
  )
  const total = parseCount(usage.total_tokens)
  const isInside = total !== null && total === addCounts(input, parseCount(usage.output_tokens))
  return isInside ? input : addCounts(input, cached)
}

/** A count that was left out beside a total is what the total has beyond the other. */
function withRest(counts: Counts, usage: JsonObject): Counts {
  const { inputTokens = null, outputTokens = null } = counts
  if (inputTokens !== null && outputTokens !== null) return counts
  const total = parseCount(usage.total_tokens)
  if (inputTokens !== null) return { ...counts, outputTokens: restOfTotal(total, inputTokens) }
  return outputTokens === null ? counts : { ...counts, inputTokens: restOfTotal(total, outputTokens) }
}

function withTotal(counts: Counts, usage: JsonObject): OpenAiUsage {
  return { ...countUsage(counts), total: parseCount(usage.total_tokens) }
}

/** Databricks writes zero for models without a cache, routers for those without video, so their zero says nothing. */
function ifPositive(count: Count): Count {
  return count === 0 ? null : count
}
