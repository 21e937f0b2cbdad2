import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Observation } from '../../../src/call/observation.ts'
import { observe } from '../../../src/providers/reading/counts.ts'
import { dialectOf, modelInPathOf } from './dialect-of.ts'
import { cutsOf, type Exchange, readBytes, readCutAt, readWhole, sameReading } from './judge.ts'
import { expectedUsage, loadRecordings, type Recording } from './recordings.ts'

const recordings = loadRecordings()

/** Larger bodies are cut at chosen places only, to keep this file fast; `CUT_BYTES` raises it. */
const CUT_EVERYWHERE_BYTES = Number(process.env.CUT_BYTES ?? 8192)
/** So much of a large body is read in all. */
const READ_BYTES = 5e6

let exact = 0

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

function checkExtra({ provider, meta }: Recording, { raw, reportedCostPico, units }: Observation): void {
  const extra = extraShape.parse(meta.extra ?? {})
  const hasCost = provider === 'openrouter' || provider === 'vercel-gateway'
  const costUsd = Number(reportedCostPico) / 1e12
  // On a client's own key the router takes nothing, and the provider something.
  if (hasCost && extra.cost === 0 && /"is_byok":\s*true/.test(raw ?? '')) expect(costUsd).toBeGreaterThan(0)
  else if (hasCost && extra.cost !== undefined) expect(costUsd).toBeCloseTo(extra.cost, 12)
  if (extra.web_search_requests !== undefined) expect(units.webSearches).toBe(extra.web_search_requests)
  if (extra.audio_seconds !== undefined) expect(units.audioMs).toBe(extra.audio_seconds * 1000)
  if (extra.usage_info !== undefined) expect(units.pages).toBe(extra.usage_info.pages_processed)
}

function check(recording: Recording, observation: Observation): void {
  const { expected } = recording.meta
  expect(observation.usage).toEqual(expectedUsage(recording))
  const transcribed = extraShape.parse(recording.meta.extra ?? {}).input_transcription_usage
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

function modelInPath({ provider, meta, path }: Recording): string | null {
  return modelInPathOf(provider, meta.method, path)
}

describe('recorded responses', () => {
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
      const different = cutsOf(exchange.body, CUT_EVERYWHERE_BYTES, READ_BYTES).filter(
        (at) => !sameReading(readCutAt(exchange, at), whole),
      )
      expect(different).toEqual([])
      exact += 1
    })
  }

  afterAll(() => {
    console.log(`${recordings.length} recordings, ${exact} exact`)
  })
})
