import { randomBytes } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ClientModel } from '../../../src/gateway/websocket/client-model.ts'
import type { Dialect } from '../../../src/providers/dialect.ts'
import { geminiLive } from '../../../src/providers/google/gemini-live.ts'
import { USAGE_IF_ASKED } from '../../../src/providers/openai/openai-overrides.ts'
import { openAiResponses } from '../../../src/providers/openai/openai-responses.ts'
import { realtime } from '../../../src/providers/openai/realtime.ts'

const TEXT = 0x81
const COMPRESSED_TEXT = 0xc1
const PING = 0x89

/** One whole frame as clients send them: masked. */
function frame(first: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(10)
  head[0] = first
  head[1] = 0x80 | 127
  head.writeBigUInt64BE(BigInt(payload.length), 2)
  const mask = randomBytes(4)
  return Buffer.concat([head, mask, payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))])
}

function ping(): Buffer {
  return Buffer.from([PING, 0x80, 1, 2, 3, 4])
}

function message(json: object): Buffer {
  return frame(TEXT, Buffer.from(JSON.stringify(json)))
}

function namesIn(dialect: Dialect, chunks: readonly Buffer[], extensions = ''): readonly string[] {
  const names: string[] = []
  const reader = new ClientModel(dialect, extensions, (name) => names.push(name))
  for (const chunk of chunks) reader.push(chunk)
  return names
}

const setup = {
  setup: { systemInstruction: { parts: [{ text: '"model":"no"' }] }, model: 'models/gemini-made' },
}

test('the first message that names a model is read, cut at any byte, and none behind it', () => {
  const bytes = Buffer.concat([
    ping(),
    message({ realtimeInput: {} }),
    message(setup),
    message({ setup: { model: 'b' } }),
  ])
  for (let at = 0; at <= bytes.length; at += 1) {
    expect(namesIn(geminiLive, [bytes.subarray(0, at), bytes.subarray(at)])).toEqual(['gemini-made'])
  }
})

test('a compressed message is read too', () => {
  const packed = deflateRawSync(JSON.stringify(setup), { finishFlush: 2 }).subarray(0, -4)
  const extensions = 'permessage-deflate; client_no_context_takeover'
  expect(namesIn(geminiLive, [frame(COMPRESSED_TEXT, packed)], extensions)).toEqual(['gemini-made'])
})

test.each([
  [
    'Vertex',
    geminiLive,
    { setup: { model: 'projects/p/locations/l/publishers/google/models/gemini-made' } },
    'gemini-made',
  ],
  ['a tuned model', geminiLive, { setup: { model: 'projects/p/locations/l/endpoints/42' } }, 'endpoints/42'],
  ['a bare name', geminiLive, { setup: { model: 'gemini-made' } }, 'gemini-made'],
  ['realtime', realtime, { type: 'session.update', session: { model: 'made' } }, 'made'],
  ['responses', openAiResponses(USAGE_IF_ASKED), { type: 'response.create', model: 'made' }, 'made'],
  [
    'responses, nested',
    openAiResponses(USAGE_IF_ASKED),
    { type: 'response.create', response: { model: 'made' } },
    'made',
  ],
])('%s: the name is the model’s own', (_, dialect, said, name) => {
  expect(namesIn(dialect, [message(said)])).toEqual([name])
})

test('a model that is not a string, garbage and a name behind too much else give no model, and no error', () => {
  expect(namesIn(geminiLive, [message({ setup: { model: { deep: 1 } } }), message({ setup: [] })])).toEqual(
    [],
  )
  for (let round = 0; round < 200; round += 1) {
    expect(namesIn(geminiLive, [randomBytes(300), frame(TEXT, randomBytes(300))])).toEqual([])
  }
  const picture = frame(TEXT, Buffer.alloc(300 * 1024, 0x41))
  expect(namesIn(geminiLive, [picture, message(setup)])).toEqual(['gemini-made'])
  expect(namesIn(geminiLive, [...Array.from({ length: 4 }, () => picture), message(setup)])).toEqual([])
})
