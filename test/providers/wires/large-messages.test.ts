import { expect, test } from 'vitest'
import type { MessageReader } from '../../../src/providers/dialect.ts'
import type { Provider } from '../../../src/providers/registry.ts'
import { createFrameReader } from '../../../src/providers/wires/websocket-frames.ts'
import { dialectOf } from '../recordings/dialect-of.ts'

const REALTIME = ['openai', '/v1/realtime'] as const
const LIVE = [
  'gemini',
  '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
] as const
/** As large as no message is kept. */
const LARGE = 'A'.repeat(1_100_000)

function textFrame(text: string): Buffer {
  const head = Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 0, 0, 0])
  head.writeUInt32BE(Buffer.byteLength(text), 6)
  return Buffer.concat([head, Buffer.from(text)])
}

/** A session whose upstream has sent these. */
function readSession([provider, path]: readonly [Provider, string], ...messages: readonly string[]) {
  const request = { method: 'GET', path, model: null, stream: null }
  const reader: MessageReader | undefined = dialectOf(provider, 'GET', path)?.createMessageReader?.(request)
  if (reader === undefined) throw new Error(`${provider} has no session at ${path}`)
  const { projection } = reader
  const frames = createFrameReader({ projection, onMessage: (message) => reader.message(message) })
  for (const message of messages) frames.push(textFrame(message))
  expect(frames.blind).toBe(false)
  return reader
}

test('a message may be nested as deeply as it likes', () => {
  const usage = `${'['.repeat(16_000)}${']'.repeat(16_000)}`
  const done = `{"type":"response.done","x":"${LARGE}","usage":${usage}}`
  expect(readSession(REALTIME, done).peek().usageSource).toBe('none')
})

test.each(['', LARGE])('an impossible count is one in a message of any length (%#)', (x) => {
  const usage = '{"input_tokens":1e400,"output_tokens":2}'
  const session = readSession(REALTIME, `{"type":"response.done","x":"${x}","response":{"usage":${usage}}}`)
  expect(session.peek()).toMatchObject({ usageSource: 'invalid', raw: `[${usage}]` })
})

test.each([
  ['realtime', REALTIME, { type: 'response.output_audio.delta', delta: LARGE }, 344],
  ['Live', LIVE, { serverContent: { modelTurn: { parts: [{ inlineData: { data: LARGE } }] } } }, 550],
])('sound counts in a message of any length: %s', (_, endpoint, message, tokens) => {
  const session = readSession(endpoint, '{"type":"response.created"}', JSON.stringify(message))
  expect(session).toMatchObject({ underWay: true, soundTokens: tokens })
})

const RESPONSES = ['openai', '/v1/responses'] as const
const LONG = { input_tokens: 10, output_tokens: 20, note: 'z'.repeat(140_000) }
const TRANSCRIBED = 'conversation.item.input_audio_transcription.completed'
const FINE = { input_tokens: 10, output_tokens: 20 }

test.each([
  ['realtime', REALTIME, (usage: object) => ({ type: 'response.done', response: { usage } })],
  [
    'a transcription by a model without a name',
    REALTIME,
    (usage: object) => ({ type: usage === FINE ? 'response.done' : TRANSCRIBED, usage }),
  ],
  [
    'Responses',
    RESPONSES,
    (usage: object) => ({ type: 'response.completed', response: { model: 'm', status: 'completed', usage } }),
  ],
  ['Live', LIVE, ({ note }: Partial<typeof LONG>) => ({ usageMetadata: { promptTokenCount: 10, note } })],
])('figures that are too long to be kept leave a session in part without a price: %s', (_, endpoint, done) => {
  const session = readSession(endpoint, JSON.stringify(done(FINE)), JSON.stringify(done(LONG)))
  expect(session.underWay).toBe(false)
  expect(session.peek().usage).toMatchObject({ inputTokens: 10 })
  expect(session.peek().parts?.map(({ isUnread }) => isUnread)).toContain(true)
})
