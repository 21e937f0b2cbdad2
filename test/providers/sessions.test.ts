import { describe, expect, test } from 'vitest'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import type { MessageReader } from '../../src/providers/dialect.ts'
import { withParts } from '../../src/providers/reading/session-sum.ts'
import type { Provider } from '../../src/providers/registry.ts'
import { dialectOf } from './recordings/dialect-of.ts'

function createSession(provider: Provider, path: string): MessageReader {
  const request = { method: 'GET', path, model: null, stream: null }
  const reader = dialectOf(provider, 'GET', path)?.createMessageReader?.(request)
  if (reader === undefined) throw new Error(`${provider} has no session at ${path}`)
  return reader
}

/** Sends messages as the wire does: bytes that are another's as soon as they were read. */
function send(session: MessageReader, ...messages: readonly (object | string)[]): void {
  for (const message of messages) {
    const bytes = Buffer.from(typeof message === 'string' ? message : JSON.stringify(message))
    session.message(bytes)
    bytes.fill(0x20)
  }
}

const created = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', usage: null } }

function done(usage: unknown): object {
  return { type: 'response.done', response: { id: 'resp_1', status: 'completed', usage } }
}

const SPOKEN = {
  total_tokens: 219,
  input_tokens: 122,
  output_tokens: 97,
  input_token_details: {
    text_tokens: 96,
    audio_tokens: 26,
    image_tokens: 3,
    cached_tokens: 64,
    cached_tokens_details: { text_tokens: 60, audio_tokens: 4 },
  },
  output_token_details: { text_tokens: 28, audio_tokens: 69 },
}

describe('a realtime session', () => {
  const open = (provider: Provider = 'openai'): MessageReader => createSession(provider, '/v1/realtime')

  test('a realtime session uses the sum of its responses, each class by itself', () => {
    const session = open()
    send(session, { type: 'session.created', session: { type: 'realtime', model: 'gpt-realtime' } })
    send(
      session,
      created,
      done(SPOKEN),
      created,
      done({ input_tokens: 10, output_tokens: 3, total_tokens: 13 }),
    )
    const { usage, usageSource, model, totalMismatch } = session.peek()
    expect(usage).toEqual({
      ...NO_USAGE,
      inputTokens: 132,
      outputTokens: 100,
      cacheReadTokens: 64,
      cacheReadAudioTokens: 4,
      audioInputTokens: 26,
      audioOutputTokens: 69,
      imageInputTokens: 3,
    })
    expect({ usageSource, model, totalMismatch }).toEqual({
      usageSource: 'reported',
      model: 'gpt-realtime',
      totalMismatch: false,
    })
  })

  test('a realtime session is known only in part while a response is under way', () => {
    const session = open('azure-openai')
    send(session, created, done(SPOKEN), created)
    expect(session.peek().usageSource).toBe('partial')
    send(session, done(SPOKEN))
    expect(session.peek().usageSource).toBe('reported')
  })

  test('a realtime session takes nothing from a response that was cancelled without usage', () => {
    const session = open()
    send(session, created, done(null))
    expect(session.peek()).toMatchObject({ usageSource: 'none', usage: NO_USAGE })
  })

  test('a realtime session reads xAI, whose usage stands beside an empty one and whose seconds are those of the session', () => {
    const session = open('xai')
    const usage = { input_tokens: 10, output_tokens: 277, total_tokens: 287 }
    send(session, created, { ...done({}), usage: { ...usage, billable_audio_seconds: 3 } })
    send(session, created, { ...done({}), usage: { ...usage, billable_audio_seconds: 7.5 } })
    expect(session.peek()).toMatchObject({
      usageSource: 'reported',
      usage: { inputTokens: 20, outputTokens: 554 },
      units: { ...NO_UNITS, audioMs: 7500 },
    })
  })

  const TRANSCRIPT = 'conversation.item.input_audio_transcription'
  const transcribed = (usage?: object, item_id?: string): object => ({
    type: `${TRANSCRIPT}.completed`,
    item_id,
    transcript: 'hello',
    usage,
  })
  const committed = (item_id: string) => ({ type: 'input_audio_buffer.committed', item_id })
  const configured = (transcription: object | null, type = 'realtime') => ({
    type: 'session.updated',
    session: { type, model: 'gpt-realtime', audio: { input: { transcription } } },
  })
  const IN_TOKENS = { type: 'tokens', total_tokens: 35, input_tokens: 26, output_tokens: 9 }

  test.each([
    ['GA', configured({ model: 'gpt-4o-transcribe' })],
    [
      'beta',
      {
        type: 'session.created',
        session: { model: 'gpt-realtime', input_audio_transcription: { model: 'gpt-4o-transcribe' } },
      },
    ],
  ])('a realtime session counts the transcription of its input under the model of that (%s)', (_, session_) => {
    const session = open()
    send(session, session_, transcribed(IN_TOKENS), transcribed(IN_TOKENS))
    send(session, created, done({ input_tokens: 5, output_tokens: 2 }))
    const { usage, raw, parts, usageSource, model } = session.peek()
    expect({ usageSource, model }).toEqual({ usageSource: 'reported', model: 'gpt-realtime' })
    expect(usage).toMatchObject({ inputTokens: 5, outputTokens: 2 })
    expect(JSON.parse(raw ?? '')).toEqual([IN_TOKENS, IN_TOKENS, { input_tokens: 5, output_tokens: 2 }])
    expect(parts).toEqual([
      {
        model: 'gpt-4o-transcribe',
        isBeside: true,
        usage: { ...NO_USAGE, inputTokens: 52, outputTokens: 18 },
        prompts: { shortest: 26, longest: 26 },
      },
      { model: 'gpt-realtime', usage: { ...NO_USAGE, inputTokens: 5, outputTokens: 2 } },
    ])
  })

  test('a realtime session counts seconds of transcription under the model of that, and xAI’s beside them', () => {
    const session = open()
    send(session, configured({ model: 'whisper-1' }), transcribed({ type: 'duration', seconds: 1.25 }))
    send(session, created, {
      ...done({}),
      usage: { input_tokens: 1, output_tokens: 2, billable_audio_seconds: 3 },
    })
    const { units, parts } = session.peek()
    expect(units).toEqual({ ...NO_UNITS, audioMs: 4_250 })
    expect(parts?.map(({ model, units: own }) => [model, own?.audioMs])).toEqual([
      ['whisper-1', 1_250],
      ['gpt-realtime', undefined],
    ])
  })

  test('a transcription is of the model that the session had when its item was complete', () => {
    const session = open()
    send(session, configured({ model: 'gpt-4o-transcribe' }), committed('item_1'))
    send(session, configured({ model: 'gpt-4o-mini-transcribe' }), transcribed(IN_TOKENS, 'item_1'))
    expect(session.peek().parts).toMatchObject([{ model: 'gpt-4o-transcribe' }])
  })

  test('a transcription without a model, or without usage, is a gap under a name that has no price', () => {
    const unnamed = open()
    send(unnamed, transcribed(IN_TOKENS), created, done(SPOKEN))
    expect(unnamed.peek().parts?.[0]).toMatchObject({ model: '(unknown)', isBeside: true })
    const silent = open()
    send(silent, configured({ model: 'whisper-1' }), transcribed(), created, done(SPOKEN))
    expect(silent.peek().parts?.[1]).toMatchObject({ model: 'whisper-1', isUnread: true })
    const apart = open('xai')
    send(apart, transcribed(), created, done(SPOKEN))
    expect(apart.peek().parts).toBeNull()
  })

  test('an item of sound is under way from its end to its transcript or failure, where there is transcription', () => {
    const session = open()
    send(session, configured(null), committed('item_0'))
    expect(session.underWay).toBe(false)
    send(session, configured({ model: 'gpt-4o-transcribe' }), committed('item_1'), committed('item_2'))
    expect(session).toMatchObject({ underWay: true, isResponding: false })
    send(session, transcribed(IN_TOKENS, 'item_1'))
    expect(session.underWay).toBe(true)
    send(session, { type: `${TRANSCRIPT}.failed`, item_id: 'item_2' })
    expect(session.underWay).toBe(false)
  })

  test('what is under way of a transcription is estimated by its sound: 10 tokens a second, or its seconds', () => {
    const second = Math.ceil((2 * 24_000 * 4) / 3)
    const session = open()
    send(session, configured({ model: 'gpt-4o-transcribe' }))
    session.clientSent?.(2 * second)
    send(session, committed('item_1'))
    session.clientSent?.(second)
    send(session, configured({ model: 'whisper-1' }), committed('item_2'))
    expect(session.unfinished).toMatchObject([
      { model: 'gpt-4o-transcribe', usage: { inputTokens: 20, audioInputTokens: 20, outputTokens: 10 } },
      { model: 'whisper-1', units: { audioMs: 1_000 } },
    ])
  })

  test('what is estimated of another model stands in the parts, and not in the tokens of the one that answers', () => {
    const session = open()
    send(session, configured({ model: 'gpt-4o-transcribe' }), created, done(SPOKEN))
    const isBeside = true as const
    const transcript = { model: 'gpt-4o-transcribe', usage: { ...NO_USAGE, inputTokens: 20 }, isBeside }
    const answer = { model: 'gpt-realtime', usage: { ...NO_USAGE, outputTokens: 5 } }
    expect(withParts(session.peek(), [transcript, answer])).toMatchObject({
      usage: { inputTokens: 122, outputTokens: 102 },
      parts: [{ model: 'gpt-realtime', usage: { inputTokens: 122, outputTokens: 97 } }, transcript, answer],
    })
  })

  test('a realtime session has a response under way from the client’s asking for it', () => {
    const session = open()
    session.asked()
    expect(session).toMatchObject({ underWay: true, isResponding: true })
    send(session, created)
    expect(session.underWay).toBe(true)
    send(session, done(SPOKEN))
    expect(session.underWay).toBe(false)
    session.asked()
    send(session, { type: 'error', error: { code: 'conversation_already_has_active_response' } })
    expect(session.underWay).toBe(false)
  })

  test.each([
    ['a negative count', { input_tokens: -4, output_tokens: 2 }],
    [
      'a part larger than its whole',
      { input_tokens: 0, output_tokens: 2, input_token_details: { cached_tokens: 9 } },
    ],
    [
      'more sound than tokens',
      { input_tokens: 0, output_tokens: 2, input_token_details: { audio_tokens: 9 } },
    ],
    [
      'more speech than tokens',
      { input_tokens: 0, output_tokens: 2, output_token_details: { audio_tokens: 9 } },
    ],
    ['a count above all counts', { input_tokens: 2 ** 50, output_tokens: 2 }],
  ])('one odd message among 30 spoils itself: %s', (_, odd) => {
    const session = open()
    send(session, configured(null))
    for (let turn = 0; turn < 30; turn += 1) {
      send(session, created, done(turn === 10 ? odd : { input_tokens: 100, output_tokens: 10 }))
    }
    const { usageSource, usage, parts } = session.peek()
    expect(usageSource).toBe('reported')
    expect(usage).toEqual({ ...NO_USAGE, inputTokens: 2_900, outputTokens: 292 })
    expect(parts).toMatchObject([
      { model: 'gpt-realtime', usage: { inputTokens: 2_900, outputTokens: 292 } },
      { model: 'gpt-realtime', usage: NO_USAGE, isUnread: true },
    ])
  })

  test('an impossible figure alone makes the session invalid, and ends its response', () => {
    const session = open()
    send(session, created, done({ input_tokens: -4, output_tokens: 2 }))
    expect(session.peek().usageSource).toBe('invalid')
    expect(session.underWay).toBe(false)
    send(session, created, done(SPOKEN))
    expect(session.peek()).toMatchObject({ usageSource: 'reported', usage: { inputTokens: 122 } })
    expect(session.peek().parts?.at(-1)).toMatchObject({ isUnread: true })
  })

  test('responses are of the model that the session has at their end', () => {
    const session = open()
    const named = (model: string) => ({ type: 'session.updated', session: { type: 'realtime', model } })
    send(session, named('gpt-realtime-mini'), created, done({ input_tokens: 1, output_tokens: 2 }))
    send(session, named('gpt-realtime'), created, done({ input_tokens: 3, output_tokens: 4 }))
    expect(session.peek()).toMatchObject({
      model: 'gpt-realtime',
      parts: [
        { model: 'gpt-realtime-mini', usage: { inputTokens: 1, outputTokens: 2 } },
        { model: 'gpt-realtime', usage: { inputTokens: 3, outputTokens: 4 } },
      ],
    })
  })

  test('a realtime session tells a bounded number of models and items apart', () => {
    const session = open()
    for (let at = 0; at < 3_000; at += 1) {
      send(session, configured({ model: `m${at}` }), committed(`i${at}`), transcribed(IN_TOKENS, `i${at}`))
      send(session, committed(`open ${at}`))
    }
    const { usage, parts } = session.peek()
    expect(usage.inputTokens).toBeNull()
    expect(parts?.length).toBeLessThan(40)
    expect(parts?.reduce((sum, part) => sum + (part.usage.inputTokens ?? 0), 0)).toBe(3_000 * 26)
    expect(session.unfinished.length).toBeLessThan(1_100)
  })

  test('a response that ends without having said that it began was asked for, and is not under way', () => {
    const session = open()
    session.asked?.()
    send(session, done({ input_tokens: 5, output_tokens: 2 }))
    expect(session).toMatchObject({ underWay: false, isResponding: false })
  })

  test('a realtime session that only transcribes uses what its transcriptions use, in tokens or in seconds', () => {
    const session = open()
    const transcription = { model: 'gpt-4o-transcribe' }
    send(session, {
      type: 'session.created',
      session: { type: 'transcription', audio: { input: { transcription } } },
    })
    send(session, transcribed({ type: 'tokens', total_tokens: 35, input_tokens: 26, output_tokens: 9 }))
    send(session, transcribed({ type: 'duration', seconds: 1.25 }))
    expect(session.peek()).toMatchObject({
      usageSource: 'reported',
      model: 'gpt-4o-transcribe',
      usage: { inputTokens: 26, outputTokens: 9 },
      units: { audioMs: 1250 },
    })
  })

  test('a realtime session is invalid with an impossible count, and keeps the possible ones', () => {
    const session = open()
    send(session, created, done({ input_tokens: 7, output_tokens: -9 }))
    expect(session.peek()).toMatchObject({
      usageSource: 'invalid',
      usage: { inputTokens: 7, outputTokens: null },
    })
  })

  test('a realtime session goes on after a message that is not JSON, and after text that speaks of usage', () => {
    const session = open()
    send(session, '', 'no json {', '[]', '{"type":"response.done"', '"response.done"')
    send(session, {
      type: 'response.output_text.delta',
      delta: '{"type":"response.done","response":{"usage":{}}}',
    })
    send(session, created, done({ input_tokens: 1, output_tokens: 2 }))
    expect(session.peek()).toMatchObject({
      usageSource: 'reported',
      usage: { inputTokens: 1, outputTokens: 2 },
    })
  })

  test('a realtime session says by its revision when there is more to see', () => {
    const session = open()
    const before = session.revision
    send(session, { type: 'response.output_audio.delta', delta: 'AAAA' })
    expect(session.revision).toBe(before)
    send(session, created, done(SPOKEN))
    expect(session.revision).toBeGreaterThan(before)
  })

  test('a realtime session counts the sound of a response under way by its length, in the format that the session has', () => {
    const session = open()
    const second = 'A'.repeat(64_000)
    const format = (type: string) => ({
      type: 'session.updated',
      session: { audio: { output: { format: { type } } } },
    })
    send(session, created, { type: 'response.output_audio.delta', delta: second })
    expect(session).toMatchObject({ underWay: true, soundTokens: 20, contextTokens: 0 })
    send(session, format('audio/pcmu'))
    expect(session.soundTokens).toBe(120)
    send(session, done(SPOKEN))
    expect(session).toMatchObject({ underWay: false, soundTokens: 0, contextTokens: 219 })
  })

  test('a realtime session that only transcribes has a transcription under way from its first piece to its usage', () => {
    const session = open()
    const piece = { type: 'conversation.item.input_audio_transcription.delta', delta: 'hel' }
    send(session, piece)
    expect(session.underWay).toBe(false)
    send(session, { type: 'session.created', session: { type: 'transcription' } }, piece)
    expect(session.underWay).toBe(true)
    send(session, transcribed({ type: 'duration', seconds: 1 }))
    expect(session.underWay).toBe(false)
  })

  test.each([
    30, 4_000, 4_200, 900_000,
  ])('a piece of a transcript under way counts by its length: %i bytes', (bytes) => {
    const session = open()
    const delta = 'hello '.repeat(bytes / 6)
    const piece = { type: 'conversation.item.input_audio_transcription.delta', item_id: 'item_1', delta }
    send(session, { type: 'session.created', session: { type: 'transcription' } }, piece)
    const [under] = session.unfinished
    expect(under?.usage.outputTokens).toBe(Math.ceil(delta.length / 3))
  })

  test('a realtime session keeps a bounded part of ten thousand usages', () => {
    const session = open()
    for (let turn = 0; turn < 10_000; turn += 1) send(session, created, done(SPOKEN))
    const { usage, raw } = session.peek()
    expect(usage.inputTokens).toBe(1_220_000)
    expect(Buffer.byteLength(raw ?? '')).toBeLessThanOrEqual(8192)
  })
})

describe('a Gemini Live session', () => {
  const STUDIO = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'
  const turn = (usageMetadata: object): object => ({ serverContent: { turnComplete: true }, usageMetadata })

  test('a Gemini Live session uses the sum of its turns; thoughts are output and not in its total', () => {
    const session = createSession('gemini', STUDIO)
    send(session, { setupComplete: {} })
    send(session, {
      serverContent: { modelTurn: { parts: [{ text: '"usageMetadata":{"promptTokenCount":9}' }] } },
    })
    send(
      session,
      turn({
        promptTokenCount: 522,
        responseTokenCount: 42,
        totalTokenCount: 564,
        thoughtsTokenCount: 136,
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 165 }],
        responseTokensDetails: [{ modality: 'AUDIO', tokenCount: 42 }],
      }),
      turn({ promptTokenCount: 600, responseTokenCount: 8, totalTokenCount: 608 }),
    )
    const { usage, usageSource, totalMismatch } = session.peek()
    expect(usage).toEqual({
      ...NO_USAGE,
      inputTokens: 1122,
      outputTokens: 186,
      reasoningTokens: 136,
      audioInputTokens: 165,
      audioOutputTokens: 42,
    })
    expect({ usageSource, totalMismatch }).toEqual({ usageSource: 'reported', totalMismatch: false })
  })

  test('a Gemini Live session stays at the tier that a turn named, also where later ones name none', () => {
    const session = createSession('gemini', STUDIO)
    const counts = { promptTokenCount: 5, responseTokenCount: 2 }
    send(session, turn({ ...counts, trafficType: 'ON_DEMAND_PRIORITY' }), turn(counts))
    expect(session.peek().serviceTier).toBe('priority')
  })

  test('a Gemini Live session has a turn under way from what it first generates to the usage, and is partial until then', () => {
    const session = createSession('gemini', STUDIO)
    send(session, { setupComplete: {} }, turn({ promptTokenCount: 5, responseTokenCount: 2 }))
    expect(session).toMatchObject({ underWay: false, contextTokens: 7 })
    const data = 'A'.repeat(64_000)
    send(session, { serverContent: { modelTurn: { parts: [{ inlineData: { data } }] } } })
    expect(session).toMatchObject({ underWay: true, soundTokens: 32 })
    expect(session.peek().usageSource).toBe('partial')
    send(session, turn({ promptTokenCount: 9, responseTokenCount: 25 }))
    expect(session).toMatchObject({ underWay: false, soundTokens: 0, contextTokens: 34 })
    send(session, { toolCall: { functionCalls: [{ name: 'f', args: {} }] } })
    expect(session.underWay).toBe(true)
  })

  test('a Gemini Live session has a turn under way from the client’s asking for it', () => {
    const session = createSession('gemini', STUDIO)
    session.asked()
    expect(session).toMatchObject({ underWay: true, isResponding: true })
    send(session, { serverContent: { modelTurn: { parts: [{ text: 'x' }] } } })
    session.asked()
    expect(session.underWay).toBe(true)
    send(session, turn({ promptTokenCount: 5, responseTokenCount: 2 }))
    expect(session.underWay).toBe(false)
    session.asked()
    send(session, { serverContent: { turnComplete: true } })
    expect(session.underWay).toBe(false)
  })

  test('what a Gemini Live turn said, written down behind its end, begins no turn', () => {
    const session = createSession('gemini', STUDIO)
    const words = { serverContent: { outputTranscription: { text: 'so much.' } } }
    send(session, words, { serverContent: { modelTurn: { parts: [{ text: 'x' }] } } }, words)
    expect(session.underWay).toBe(true)
    send(session, turn({ promptTokenCount: 5, responseTokenCount: 2 }), words)
    expect(session).toMatchObject({ underWay: false, isResponding: false })
    expect(session.peek().usageSource).toBe('reported')
  })

  test('one odd turn of a Gemini Live session among 30 spoils itself', () => {
    const session = createSession('gemini', STUDIO)
    for (let at = 0; at < 30; at += 1) {
      send(session, turn({ promptTokenCount: at === 3 ? -1 : 10, responseTokenCount: 2 }))
    }
    const { usageSource, usage, parts } = session.peek()
    expect({ usageSource, input: usage.inputTokens }).toEqual({ usageSource: 'reported', input: 290 })
    expect(parts).toMatchObject([{ model: null }, { model: null, isUnread: true }])
  })

  test('a Gemini Live session counts the queries of each turn once, and those of a turn under way', () => {
    const session = createSession('gemini', STUDIO)
    const searched = (...webSearchQueries: readonly string[]): object => ({
      serverContent: { groundingMetadata: { webSearchQueries } },
    })
    send(session, searched('a', 'b'), searched('b'), turn({ promptTokenCount: 5, responseTokenCount: 2 }))
    expect(session.peek().units).toEqual({ ...NO_UNITS, webSearches: 2 })
    const before = session.revision
    send(session, searched('a'))
    expect(session.revision).toBeGreaterThan(before)
    expect(session.peek().units).toEqual({ ...NO_UNITS, webSearches: 3 })
  })

  test('a Gemini Live session is read on Vertex too, and has reported nothing before its first turn has ended', () => {
    const session = createSession(
      'vertex',
      '/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent',
    )
    send(session, { setupComplete: {} }, { usageMetadata: null }, 'usageMetadata')
    expect(session.peek().usageSource).toBe('none')
    expect(session.revision).toBe(0)
  })
})

describe('a Responses session', () => {
  test('a Responses session has a response under way until its end is reported, whatever that is', () => {
    const session = createSession('openai', '/v1/responses')
    const response = (status: string, usage: object | null) => ({
      type: `response.${status}`,
      response: { id: 'resp_1', model: 'gpt-5', status, usage },
    })
    expect(session.underWay).toBe(false)
    send(session, response('in_progress', null))
    expect(session.underWay).toBe(true)
    send(session, response('incomplete', { input_tokens: 3, output_tokens: 4, total_tokens: 7 }))
    expect(session).toMatchObject({ underWay: false, contextTokens: 7 })
    expect(session.peek().usageSource).toBe('reported')
    send(session, response('in_progress', null))
    expect(session.underWay).toBe(true)
    expect(session.peek().usageSource).toBe('partial')
  })

  test('a Responses session adds up what its responses used of tools, and the tokens of each model', () => {
    const session = createSession('openai', '/v1/responses')
    const ended = (usage: object, more: object) => ({
      type: 'response.completed',
      response: { id: 'resp_1', model: 'gpt-5', status: 'completed', usage, ...more },
    })
    const output = [{ type: 'file_search_call' }, { type: 'code_interpreter_call', container_id: 'c' }]
    send(
      session,
      ended({ input_tokens: 3, output_tokens: 4, total_tokens: 7 }, { output }),
      ended(
        { input_tokens: 10, output_tokens: 1, total_tokens: 11 },
        {
          output,
          tools: [{ type: 'image_generation', model: 'gpt-image-1' }],
          tool_usage: { image_gen: { input_tokens: 5, output_tokens: 100, total_tokens: 105 } },
        },
      ),
    )
    const { units, parts, usage, totalMismatch } = session.peek()
    expect(units).toEqual({ ...NO_UNITS, fileSearches: 2, codeRuns: 2 })
    expect(usage).toEqual({ ...NO_USAGE, inputTokens: 18, outputTokens: 105 })
    expect(parts).toEqual([
      {
        model: 'gpt-5',
        usage: { ...NO_USAGE, inputTokens: 13, outputTokens: 5 },
        prompts: { shortest: 3, longest: 10 },
        serviceTier: null,
      },
      {
        model: 'gpt-image-1',
        usage: { ...NO_USAGE, inputTokens: 5, outputTokens: 100 },
        serviceTier: null,
        isBeside: true,
      },
    ])
    expect(totalMismatch).toBe(false)
  })

  test('a Responses session has a response under way from the client’s asking for it, and one odd spoils itself', () => {
    const session = createSession('openai', '/v1/responses')
    const event = (status: string, usage: object | null) => ({
      type: `response.${status}`,
      response: { id: 'resp_1', model: 'gpt-5', status, usage },
    })
    session.asked()
    expect(session.underWay).toBe(true)
    send(session, event('in_progress', null))
    expect(session.underWay).toBe(true)
    send(session, event('completed', { input_tokens: 3, output_tokens: 4, total_tokens: 7 }))
    expect(session.underWay).toBe(false)
    session.asked()
    send(session, event('completed', { input_tokens: -3, output_tokens: 4 }))
    expect(session.underWay).toBe(false)
    session.asked()
    session.asked()
    send(session, { type: 'error', error: { message: 'no' } })
    expect(session.underWay).toBe(true)
    send(session, { type: 'error', error: { message: 'no' } })
    expect(session.underWay).toBe(false)
    const { usageSource, usage, parts } = session.peek()
    expect({ usageSource, input: usage.inputTokens }).toEqual({ usageSource: 'reported', input: 3 })
    expect(parts).toMatchObject([{ model: 'gpt-5' }, { model: 'gpt-5', isUnread: true }])
  })
})
