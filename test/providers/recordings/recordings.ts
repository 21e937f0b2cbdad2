import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { PROVIDERS, type Provider } from '../../../src/providers/registry.ts'
import { decodeBody } from './judge.ts'

const FOLDER = new URL('../../../../shared/recordings/', import.meta.url)

const count = z.number().nullable()

const metaShape = z.object({
  provider: z.string(),
  endpoint: z.string(),
  path: z.string(),
  method: z.string(),
  wire: z.string(),
  request_model: z.string().nullish(),
  request_stream: z.boolean().nullish(),
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

export type RecordingMeta = z.infer<typeof metaShape>

/** A response that some upstream really sent, and what it should be read as. */
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
}

/** Providers that the recordings tell apart and the gateway does not. */
const PROVIDER_OF: { readonly [name: string]: Provider } = { 'bedrock-mantle': 'bedrock' }

/** The recordings beside the project; none where that folder does not exist. */
export function loadRecordings(): readonly Recording[] {
  if (!existsSync(FOLDER)) return []
  return readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => loadRecording(entry.name))
}

function loadRecording(id: string): Recording {
  const folder = new URL(`${id}/`, FOLDER)
  const meta = metaShape.parse(JSON.parse(readFileSync(new URL('meta.json', folder), 'utf8')))
  const { 'content-encoding': encoding, ...headers } = Object.fromEntries(
    Object.entries(meta.headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const body = decodeBody(readFileSync(new URL('response.body', folder)), encoding)
  return { id, provider: providerOf(meta.provider), meta, path: meta.path.split('?')[0] ?? '', headers, body }
}

function providerOf(name: string): Provider {
  return PROVIDERS.find((provider) => provider === name) ?? PROVIDER_OF[name] ?? 'openai-compatible'
}
