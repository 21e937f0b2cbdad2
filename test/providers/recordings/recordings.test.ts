import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Observation } from '../../../src/call/observation.ts'
import { NO_USAGE } from '../../../src/call/usage.ts'
import { observe } from '../../../src/providers/reading/counts.ts'
import { dialectOf, modelInPathOf } from './dialect-of.ts'
import { cutsOf, type Exchange, readBytes, readCutAt, readWhole, sameReading } from './judge.ts'
import { loadRecordings, type Recording, type RecordingMeta } from './recordings.ts'

const recordings = loadRecordings()

/** Larger bodies are cut at chosen places only, to keep this file fast; `CUT_BYTES` raises it. */
const CUT_EVERYWHERE_BYTES = Number(process.env.CUT_BYTES ?? 8192)

let exact = 0

/** What a recording says it should be read as, under our names. */
function expectedCounts(expected: RecordingMeta['expected']): Observation['usage'] {
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
  }
}

function exchangeOf(recording: Recording): Exchange | null {
  const { id, meta, path, headers, body } = recording
  const dialect = dialectOf(recording.provider, meta.method, path)
  if (dialect === null) return null
  const request = {
    method: meta.method,
    path,
    model: meta.request_model ?? null,
    stream: meta.request_stream ?? null,
  }
  return { id, dialect, request, head: { status: meta.status, headers }, body }
}

function readMessages({ dialect, request, body }: Exchange): Observation {
  const reader = dialect.createMessageReader?.(request)
  if (reader === undefined) throw new Error(`${dialect.name} reads no WebSocket messages`)
  for (const line of body.toString().split('\n')) if (line !== '') reader.message(Buffer.from(line))
  return reader.peek()
}

/** Counts that a recording's expectation leaves out although the provider's own usage object has them. */
const REPORTED_BEYOND_EXPECTATION: { readonly [id: string]: Partial<Observation['usage']> } = {
  'openai-audio-transcriptions-stream-02-crlf-usage-on-content-chunk': { audioInputTokens: 37 },
  'azure-openai-realtime-stream-01-cached-audio-in': { cacheReadImageTokens: 0 },
  'openai-realtime-stream-02-cached': { cacheReadImageTokens: 0 },
  'vertex-generateContent-sync-03-cached-reasoning': { cacheReadImageTokens: 1223 },
}

/** What else a recording tells, where we have a place for it. */
const extraShape = z.object({
  cost: z.number().optional(),
  web_search_requests: z.number().optional(),
  audio_seconds: z.number().optional(),
  usage_info: z.object({ pages_processed: z.number() }).optional(),
  input_transcription_usage: z
    .array(z.object({ input_tokens: z.number(), output_tokens: z.number() }))
    .optional(),
})

function checkExtra({ provider, meta }: Recording, { reportedCostPico, units }: Observation): void {
  const extra = extraShape.parse(meta.extra ?? {})
  const hasCost = provider === 'openrouter' || provider === 'vercel-gateway'
  if (hasCost && extra.cost !== undefined) expect(Number(reportedCostPico) / 1e12).toBeCloseTo(extra.cost, 12)
  if (extra.web_search_requests !== undefined) expect(units.webSearches).toBe(extra.web_search_requests)
  if (extra.audio_seconds !== undefined) expect(units.audioMs).toBe(extra.audio_seconds * 1000)
  if (extra.usage_info !== undefined) expect(units.pages).toBe(extra.usage_info.pages_processed)
}

function check(recording: Recording, observation: Observation): void {
  const { expected } = recording.meta
  const reported = REPORTED_BEYOND_EXPECTATION[recording.id] ?? {}
  const transcribed = extraShape.parse(recording.meta.extra ?? {}).input_transcription_usage
  // Another model's tokens: the expectation has the session's own alone.
  const own = transcribed === undefined ? observation.usage : ownUsageOf(observation)
  expect(own).toEqual({ ...expectedCounts(expected), ...reported })
  if (transcribed !== undefined) {
    const beside = observation.parts?.filter(({ isBeside }) => isBeside === true) ?? []
    expect(
      beside.map(({ usage: { inputTokens: input_tokens, outputTokens: output_tokens } }) => ({
        input_tokens,
        output_tokens,
      })),
    ).toEqual(transcribed.map(({ input_tokens, output_tokens }) => ({ input_tokens, output_tokens })))
  }
  checkExtra(recording, observation)
  expect(observation.usageSource === 'none').toBe(!expected.usage_present)
  if (expected.model !== null) expect(observation.model ?? modelInPath(recording)).toBe(expected.model)
}

function ownUsageOf({ usage, parts, model }: Observation): Observation['usage'] {
  return parts === null ? usage : (parts.find((part) => part.model === model)?.usage ?? usage)
}

function modelInPath({ provider, meta, path }: Recording): string | null {
  return modelInPathOf(provider, meta.method, path)
}

describe('recorded responses', () => {
  if (recordings.length === 0) {
    test('there are no recordings beside the project: only our own fixtures are read', () => {
      expect(recordings).toEqual([])
    })
  }

  for (const recording of recordings) {
    test(`${recording.id} is read as it should be, at every split`, () => {
      const exchange = exchangeOf(recording)
      if (exchange === null) {
        check(recording, observe())
        exact += 1
        return
      }
      if (recording.meta.wire === 'websocket-jsonl') {
        check(recording, readMessages(exchange))
        exact += 1
        return
      }
      const whole = readWhole(exchange)
      check(recording, whole)
      const { last, peeked } = readBytes(exchange)
      expect(last).toEqual(whole)
      for (const early of peeked)
        if (early.usageSource === 'reported') expect(early.usage).toEqual(whole.usage)
      const different = cutsOf(exchange.body, CUT_EVERYWHERE_BYTES).filter(
        (at) => !sameReading(readCutAt(exchange, at), whole),
      )
      expect(different).toEqual([])
      exact += 1
    })
  }

  afterAll(() => {
    if (recordings.length > 0) console.log(`${recordings.length} recordings, ${exact} exact`)
  })
})
