import { afterAll, describe, expect, test } from 'vitest'
import { observe } from '../../src/dialects/counts.ts'
import { selectDialect } from '../../src/dialects/dialects.ts'
import type { Observation } from '../../src/domain/observation.ts'
import { cutsOf, type Exchange, readBytes, readCutAt, readWhole } from './judge.ts'
import { loadRecordings, type Recording, type RecordingMeta } from './recordings.ts'

const recordings = loadRecordings()

/** Larger bodies are cut at chosen places only, to keep this file fast; `CUT_BYTES` raises it. */
const CUT_EVERYWHERE_BYTES = Number(process.env.CUT_BYTES ?? 8192)

let exact = 0

/** What a recording says it should be read as, under our names. */
function expectedCounts(expected: RecordingMeta['expected']): Observation['usage'] {
  return {
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
  const dialect = selectDialect(recording.provider, meta.method, path)
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

function check(recording: Recording, observation: Observation): void {
  const { expected } = recording.meta
  expect(observation.usage).toEqual(expectedCounts(expected))
  expect(observation.usageSource === 'none').toBe(!expected.usage_present)
  if (expected.model !== null) expect(observation.model ?? modelInPath(recording)).toBe(expected.model)
}

function modelInPath({ provider, meta, path }: Recording): string | null {
  return selectDialect(provider, meta.method, path)?.modelInPath(path) ?? null
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

/** Equality that is cheap enough for a hundred thousand cuts. */
function sameReading(one: Observation, other: Observation): boolean {
  return JSON.stringify(one, bigintsAsText) === JSON.stringify(other, bigintsAsText)
}

function bigintsAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}` : value
}
