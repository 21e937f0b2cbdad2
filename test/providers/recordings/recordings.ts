import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { NO_USAGE, type TokenUsage } from '../../../src/call/usage.ts'
import { PROVIDERS, type Provider } from '../../../src/providers/registry.ts'
import { decodeBody } from './judge.ts'

const count = z.number().nullable()

const metaShape = z.object({
  provider: z.string(),
  endpoint: z.string(),
  path: z.string(),
  method: z.string(),
  wire: z.string(),
  request_model: z.string().nullish(),
  request_stream: z.boolean().nullish(),
  request_body: z.record(z.string(), z.unknown()).nullish(),
  chunk_lengths: z.array(z.number()).nullish(),
  status: z.number(),
  headers: z.record(z.string(), z.string()),
  expected: z.object({
    model: z.string().nullable(),
    input_tokens: count,
    output_tokens: count,
    cached_input_tokens: count,
    cache_write_tokens: count,
    cache_write_5m_tokens: count,
    cache_write_1h_tokens: count,
    reasoning_tokens: count,
    input_audio_tokens: count,
    output_audio_tokens: count,
    input_image_tokens: count,
    output_image_tokens: count,
    cached_audio_tokens: count,
    usage_present: z.boolean(),
  }),
  extra: z.record(z.string(), z.unknown()).nullish(),
})

type RecordingMeta = z.infer<typeof metaShape>

/** A response that an upstream really sent, and what it should be read as. */
export interface Recording {
  readonly id: string
  readonly provider: Provider
  readonly meta: RecordingMeta
  /** Without query. */
  readonly path: string
  /** Lower-case names, without `content-encoding`. */
  readonly headers: Readonly<Record<string, string>>
  /** Content-encoding undone. */
  readonly body: Buffer
  /** The body as it was sent. */
  readonly sent: Buffer
}

/** Providers that the recordings tell apart and the gateway does not. */
const PROVIDER_OF: { readonly [name: string]: Provider } = { 'bedrock-mantle': 'bedrock' }

/** Counts that a recording's expectation leaves out although the provider's own usage object has them. */
const REPORTED_BEYOND_EXPECTATION: Readonly<Record<string, Partial<TokenUsage>>> = {
  'openai-audio-transcriptions-stream-02-crlf-usage-on-content-chunk': { audioInputTokens: 37 },
  'azure-openai-realtime-stream-01-cached-audio-in': { cacheReadImageTokens: 0 },
  'openai-realtime-stream-02-cached': { cacheReadImageTokens: 0 },
  'vertex-generateContent-sync-03-cached-reasoning': { cacheReadImageTokens: 1223 },
}

/** What a recording should be read as, under our names. */
export function expectedUsage({ id, meta: { expected } }: Recording): TokenUsage {
  return {
    ...NO_USAGE,
    inputTokens: expected.input_tokens,
    outputTokens: expected.output_tokens,
    cacheReadTokens: expected.cached_input_tokens,
    cacheWriteTokens: expected.cache_write_tokens,
    cacheWrite5mTokens: expected.cache_write_5m_tokens,
    cacheWrite1hTokens: expected.cache_write_1h_tokens,
    reasoningTokens: expected.reasoning_tokens,
    audioInputTokens: expected.input_audio_tokens,
    audioOutputTokens: expected.output_audio_tokens,
    imageInputTokens: expected.input_image_tokens,
    imageOutputTokens: expected.output_image_tokens,
    cacheReadAudioTokens: expected.cached_audio_tokens,
    ...REPORTED_BEYOND_EXPECTATION[id],
  }
}

/** The recordings in the folder that `RECORDINGS_DIR` names, one folder each; none where it is not set. */
export function loadRecordings(): readonly Recording[] {
  const root = process.env.RECORDINGS_DIR
  if (!root) return []
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => loadRecording(name, join(root, name)))
}

function loadRecording(id: string, folder: string): Recording {
  const meta = metaShape.parse(JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8')))
  const { 'content-encoding': encoding, ...headers } = Object.fromEntries(
    Object.entries(meta.headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const sent = readFileSync(join(folder, 'response.body'))
  const body = decodeBody(sent, encoding)
  const path = meta.path.split('?')[0] ?? ''
  return { id, provider: providerOf(meta.provider), meta, path, headers, body, sent }
}

function providerOf(name: string): Provider {
  return PROVIDERS.find((provider) => provider === name) ?? PROVIDER_OF[name] ?? 'openai-compatible'
}
