import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { BodyBudget } from '../../../src/gateway/bodies/body-budget.ts'
import { type ClientEvents, ClientMessages } from '../../../src/gateway/websocket/client-messages.ts'
import { SessionNames } from '../../../src/gateway/websocket/session-names.ts'
import type { Dialect } from '../../../src/providers/dialect.ts'
import { geminiLive } from '../../../src/providers/google/gemini-live.ts'
import { USAGE_IF_ASKED } from '../../../src/providers/openai/openai-overrides.ts'
import { openAiResponses } from '../../../src/providers/openai/openai-responses.ts'
import { realtime } from '../../../src/providers/openai/realtime.ts'

const MIB = 1024 * 1024
/** Takes all that a test sends. */
const ROOMY = new BodyBudget(64 * MIB, 64 * MIB)
const openRoom: ClientEvents['openRoom'] = (end) => ROOMY.open('c', end)

const TEXT = 0x81
const CLOSE = 0x88
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

/** What was read of a client's bytes. */
function readAll(dialect: Dialect, chunks: readonly Buffer[], model: string | null = null) {
  const names: string[] = []
  const refused: string[] = []
  let asked = 0
  const client = new ClientMessages(dialect, {
    model,
    onModel: (name) => names.push(name),
    onAsked: () => {
      asked += 1
    },
    openRoom,
    onClose: () => true,
    onRefused: (reason) => refused.push(reason),
    isOpen: true,
    onJudged: () => {},
  })
  for (const chunk of chunks) client.push(chunk)
  return { names, refused, asked, holds: client.isUnsaid }
}

function openClient(dialect: Dialect): ClientMessages {
  const events = {
    model: null,
    onModel() {},
    onAsked() {},
    openRoom,
    onClose: () => true,
    onRefused() {},
    isOpen: true,
    onJudged() {},
  }
  return new ClientMessages(dialect, events)
}

function namesIn(dialect: Dialect, chunks: readonly Buffer[]): readonly string[] {
  return readAll(dialect, chunks).names
}

const setup = {
  setup: { systemInstruction: { parts: [{ text: '"model":"no"' }] }, model: 'models/gemini-made' },
}

test('the first message that names a model is read, cut at any byte, and none behind it', () => {
  const update = (model: string) => message({ type: 'session.update', session: { model } })
  const bytes = Buffer.concat([ping(), message({ type: 'x' }), update('a'), update('b')])
  for (let at = 0; at <= bytes.length; at += 1) {
    const { names, refused } = readAll(realtime, [bytes.subarray(0, at), bytes.subarray(at)])
    expect([names, refused]).toEqual([['a'], []])
  }
})

test('a message of vLLM’s form names the one model of its session, whatever the query says', () => {
  const update = (model: string) => message({ type: 'session.update', model })
  const said = (query: string | null, ...models: string[]) => {
    const { names, refused } = readAll(realtime, models.map(update), query)
    return [names, refused.length]
  }
  expect(said(null, 'dear')).toEqual([['dear'], 0])
  expect(said('dear', 'dear')).toEqual([['dear'], 0])
  expect(said('cheap', 'dear')).toEqual([[], 1])
  expect(said(null, 'cheap', 'dear')).toEqual([['cheap'], 1])
  const decoy = message({ type: 'x', session: { model: 'dear' } })
  expect(readAll(realtime, [decoy, update('dear')], 'cheap').refused).toHaveLength(1)
})

/** Blanks, or a long text, of more than 1 MiB before what a message says, or behind it. */
const PADDED: readonly (readonly [string, (json: string) => string])[] = [
  ['blanks before it', (json) => `{${' '.repeat(1_100_000)}${json.slice(1)}`],
  ['blanks behind it', (json) => `${json.slice(0, -1)}${' '.repeat(1_100_000)}}`],
  ['a text before it', (json) => `{"x":"${'x'.repeat(1_100_000)}",${json.slice(1)}`],
  ['a text behind it', (json) => `${json.slice(0, -1)},"x":"${'x'.repeat(3_000_000)}"}`],
]

test.each(PADDED)('a message of more than 1 MiB is read: %s', (_, pad) => {
  const said = (dialect: Dialect, query: string | null, json: object) => {
    const bytes = frame(TEXT, Buffer.from(pad(JSON.stringify(json))))
    const chunks = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (__, at) =>
      bytes.subarray(at * 65_536, (at + 1) * 65_536),
    )
    const { names, refused, asked } = readAll(dialect, chunks, query)
    return [names, refused.length, asked]
  }
  const asking = { type: 'response.create', model: 'made' }
  expect(said(realtime, 'made', { type: 'response.create' })).toEqual([[], 0, 1])
  expect(said(openAiResponses(USAGE_IF_ASKED), null, asking)).toEqual([['made'], 0, 1])
  expect(said(realtime, 'cheap', { type: 'session.update', model: 'dear' })).toEqual([[], 1, 0])
})

test.each([
  ['its type', '{"type":"response.create","type":"x"}'],
  ['its type, in another letter', '{"type":"x","Type":"response.create"}'],
  ['so many models that the type has no room', `{${`"model":"${'x'.repeat(4_000)}",`.repeat(40)}"type":"x"}`],
])('a message that says %s twice is refused in any session', (_, text) => {
  for (const dialect of [realtime, openAiResponses(USAGE_IF_ASKED)]) {
    expect(readAll(dialect, [frame(TEXT, Buffer.from(text))])).toMatchObject({
      refused: ['A message of this session says something twice.'],
      asked: 0,
    })
  }
})

test('nothing behind a client’s close frame goes upstream, cut at any byte', () => {
  const first = message({ type: 'x' })
  const said = Buffer.concat([first, frame(CLOSE, Buffer.from([3, 232]))])
  const bytes = Buffer.concat([said, message({ type: 'response.create' }), ping()])
  for (let at = 0; at <= bytes.length; at += 1) {
    const client = openClient(realtime)
    client.push(bytes.subarray(0, at))
    expect(client.passableBytes).toBe(at < said.length ? Math.min(at, first.length) : said.length)
    client.push(bytes.subarray(at))
    expect(client.passableBytes).toBe(said.length)
    expect(client.endsFrame(said.length)).toBe(true)
  }
})

test('a message that is not UTF-8 does not go on where objects may be named, cut at any byte', () => {
  const ends = (text: Buffer, at: number) => {
    const names = new SessionNames('/v1/responses', () => 'pass')
    names.push(text.subarray(0, at))
    names.push(text.subarray(at))
    return names.end()
  }
  const fine = Buffer.from('{"input":"äßあ😀"}')
  const wrong = Buffer.from('{"input":"ä\xe4"}', 'latin1')
  const cut = Buffer.concat([Buffer.from('{"input":"'), Buffer.from('😀').subarray(0, 3), Buffer.from('"}')])
  for (let at = 0; at <= fine.length; at += 1) expect(ends(fine, at)).toEqual([])
  for (const text of [wrong, cut])
    for (let at = 0; at <= text.length; at += 1) expect(ends(text, at)).toBe('is not one JSON document')
})

test('a Live session holds back what its client sends until the setup is whole, cut at any byte', () => {
  const first = Buffer.concat([ping(), message(setup)])
  const bytes = Buffer.concat([first, message({ realtimeInput: {} }), message(setup)])
  for (let at = 0; at <= bytes.length; at += 1) {
    expect(readAll(geminiLive, [bytes.subarray(0, at)]).holds).toBe(at < first.length)
    const { names, refused } = readAll(geminiLive, [bytes.subarray(0, at), bytes.subarray(at)])
    expect([names, refused]).toEqual([['gemini-made'], []])
  }
})

test('a setup of 300 KB with the model at its end, and one behind 1 MB of pings, name the model', () => {
  const text = 'x'.repeat(300 * 1024)
  const long = { setup: { systemInstruction: { parts: [{ text }] }, model: 'models/gemini-made' } }
  expect(namesIn(geminiLive, [message(long)])).toEqual(['gemini-made'])
  const pings = Buffer.concat(Array.from({ length: 170_000 }, ping))
  const { names, refused } = readAll(geminiLive, [pings, message(long)])
  expect([pings.length > 1_000_000, names, refused]).toEqual([true, ['gemini-made'], []])
})

const twice = (text: string) => frame(TEXT, Buffer.from(text))

test.each([
  ['no setup', [message({ realtimeInput: {} })]],
  ['no model', [message({ setup: {} })]],
  ['a model that is not a text', [message({ setup: { model: { deep: 1 } } })]],
  ['no object', [message([])]],
  ['no JSON', [frame(TEXT, randomBytes(300))]],
  ['two members model', [twice('{"setup":{"model":"models/cheap","model":"models/dear"}}')]],
  ['two members model, one escaped', [twice('{"setup":{"model":"a","mod\\u0065l":"b"}}')]],
  ['two members setup', [twice('{"setup":{"model":"a"},"setup":{"model":"b"}}')]],
  ['two setups', [message(setup), message({ setup: { model: 'models/dear' } })]],
  ['a setup that is too large', [message({ setup: { x: 'x'.repeat(2 * 1024 * 1024), model: 'a' } })]],
  ['more than is held', [Buffer.concat(Array.from({ length: 400_000 }, ping))]],
  ['no frames', [Buffer.from([0x8f, 0])]],
  ['a compressed frame', [frame(0xc1, Buffer.from('x'))]],
])('a Live session is refused once, and its model is not taken back: %s', (_, chunks) => {
  const { refused, names } = readAll(geminiLive, [...chunks, message({ setup: { model: 'later' } })])
  expect(refused).toHaveLength(1)
  expect(names).not.toContain('later')
})

test('a Live session that is closed before it said anything is not refused', () => {
  expect(readAll(geminiLive, [frame(0x88, Buffer.alloc(0))])).toMatchObject({ refused: [], holds: false })
})

test.each([
  ['realtime', realtime, { type: 'response.create' }, 1],
  ['realtime, sound', realtime, { type: 'input_audio_buffer.append', audio: 'AAAA' }, 0],
  ['responses', openAiResponses(USAGE_IF_ASKED), { type: 'response.create', input: 'x' }, 1],
])('%s: what asks for a response counts, and nothing else', (_, dialect, said, asked) => {
  expect(readAll(dialect, [message(said)]).asked).toBe(asked)
})

test.each([
  [{ clientContent: { turns: [], turnComplete: true } }, 1],
  [{ client_content: { turn_complete: true } }, 1],
  [{ clientContent: { turn_complete: true } }, 1],
  [{ clientContent: {}, client_content: { turnComplete: true } }, 1],
  [{ toolResponse: { functionResponses: [{ scheduling: 'SILENT' }], function_responses: [{}] } }, 1],
  [{ clientContent: { turns: [] } }, 0],
  [{ realtimeInput: { text: 'x'.repeat(100_000) } }, 1],
  [{ realtimeInput: { activityEnd: {} } }, 1],
  [{ realtimeInput: { audio: { data: 'AAAA' } } }, 0],
  [{ toolResponse: { functionResponses: [{ id: 'f' }] } }, 1],
  [{ toolResponse: { functionResponses: [{ id: 'f', scheduling: 'SILENT' }] } }, 0],
  [{ tool_response: { function_responses: [{ id: 'f', response: { scheduling: 'SILENT' } }] } }, 0],
  [{ toolResponse: { functionResponses: [{ scheduling: 'SILENT' }, { scheduling: 'WHEN_IDLE' }] } }, 1],
  [{ toolResponse: { functionResponses: [...Array(1024).fill({ scheduling: 'SILENT' }), {}] } }, 1],
])('Live: %j asks for %i turns', (said, asked) => {
  expect(readAll(geminiLive, [message(setup), message(said)]).asked).toBe(asked)
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

test('a model that is not a string, garbage and a message that is too large give no model, and no error', () => {
  const update = (session: unknown) => message({ type: 'session.update', session })
  expect(namesIn(realtime, [update({ model: { deep: 1 } }), update([])])).toEqual([])
  for (let round = 0; round < 200; round += 1) {
    expect(namesIn(geminiLive, [randomBytes(300), frame(TEXT, randomBytes(300))])).toEqual([])
  }
  const sound = frame(TEXT, Buffer.alloc(2 * 1024 * 1024, 0x41))
  expect(namesIn(realtime, [sound, update({ model: 'made' })])).toEqual(['made'])
})

/** A session whose messages name objects, of which each look-up waits until it is answered. */
function judgedSession(dialect: Dialect, canonicalPath: string) {
  const lookUps: (readonly string[])[] = []
  const answers: ((verdict: 'pass' | 'hidden') => void)[] = []
  const names = new SessionNames(
    canonicalPath,
    (ids) =>
      new Promise((resolve) => {
        lookUps.push(ids)
        answers.push(resolve)
      }),
  )
  const refused: string[] = []
  const said: string[] = []
  const events = {
    model: null,
    onModel: (model: string) => said.push(model),
    onAsked: () => said.push('asks'),
    openRoom,
    onClose: () => said.push('closes') > 0,
    onRefused: (reason: string) => refused.push(reason),
    isOpen: true,
    onJudged: () => {},
  }
  const client = new ClientMessages(dialect, events, names)
  return { client, names, lookUps, answers, refused, said, events }
}

test.each([
  true,
  false,
])('a message asks for a response once it may go on, while its session is open: %s', async (isOpen) => {
  const { client, answers, said, events } = judgedSession(openAiResponses(USAGE_IF_ASKED), '/v1/responses')
  const asking = { type: 'response.create', model: 'gpt-5', previous_response_id: 'resp_0' }
  client.push(message(asking))
  expect(said).toEqual([])
  events.isOpen = isOpen
  answers[0]?.('pass')
  await Promise.resolve()
  await new Promise(setImmediate)
  expect(said).toEqual(isOpen ? ['gpt-5', 'asks'] : [])
  expect(client.passableBytes > 0).toBe(isOpen)
})

test('one look-up of owners at a time is under way for a session, however many messages name objects', async () => {
  const { client, lookUps, answers } = judgedSession(openAiResponses(USAGE_IF_ASKED), '/v1/responses')
  const naming = (id: string) => message({ type: 'response.create', previous_response_id: id })
  client.push(Buffer.concat(Array.from({ length: 500 }, (_, at) => naming(`resp_${at}`))))
  expect([lookUps, client.isJudging, client.passableBytes]).toEqual([[['resp_0']], true, 0])
  answers[0]?.('pass')
  await expect.poll(() => lookUps.length).toBe(2)
  expect(client.passableBytes).toBe(naming('resp_0').length)
  answers[1]?.('hidden')
  await expect.poll(() => client.isJudging).toBe(false)
  expect(lookUps).toHaveLength(2)
})

test('a message of brackets takes no more memory than its first pieces', () => {
  const { names } = judgedSession(openAiResponses(USAGE_IF_ASKED), '/v1/responses')
  const piece = Buffer.alloc(64 * 1024, '[')
  names.push(piece)
  const before = process.memoryUsage().heapUsed
  for (let at = 0; at < 64; at += 1) names.push(piece)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000)
  expect(names.end()).toBe('is not one JSON document')
})

test('a first message that is too large is refused, also where it names an object', () => {
  const { client, lookUps, answers, refused } = judgedSession(
    geminiLive,
    '/ws/google.ai.GenerativeService.BidiGenerateContent',
  )
  const parts = [{ fileData: { fileUri: 'files/other' } }, { text: 'x'.repeat(2_100_000) }]
  client.push(message({ setup: { systemInstruction: { parts }, model: 'models/gemini-made' } }))
  expect([lookUps, answers]).toEqual([[], []])
  expect(refused).toEqual(['The first message of this session is too large.'])
})

test.each([true, false])('a close frame that is judged, cut at any byte, goes on: %s', (goesOn) => {
  const before = Buffer.concat([message({ type: 'response.create' }), ping()])
  const bytes = Buffer.concat([before, Buffer.from([CLOSE, 0x82, 1, 2, 3, 4, 5, 6])])
  for (let at = 0; at < bytes.length; at += 1) {
    let asked = 0
    const client: ClientMessages = new ClientMessages(realtime, {
      model: null,
      openRoom,
      onModel() {},
      onAsked() {},
      onClose() {
        asked += 1
        expect(client.passableBytes).toBe(before.length)
        expect(client.endsFrame(before.length)).toBe(true)
        return goesOn
      },
      onRefused() {},
      isOpen: true,
      onJudged() {},
    })
    client.push(bytes.subarray(0, at))
    expect(client.passableBytes).toBe(Math.min(at, before.length))
    client.push(bytes.subarray(at))
    client.push(Buffer.from([1, 2, 3]))
    expect([asked, client.passableBytes]).toEqual([1, goesOn ? bytes.length : before.length])
    expect(client.holdsClose).toBe(!goesOn)
    client.releaseClose()
    expect(client.passableBytes).toBe(bytes.length)
  }
})

test('what is not a frame ends any session that is metered', () => {
  const broken = Buffer.concat([message({ type: 'x' }), Buffer.from([0xc8, 0x80, 1, 2, 3, 4])])
  expect(readAll(realtime, [broken]).refused).toEqual(['A message of this session cannot be read.'])
})

test('first messages that wait share the room of bodies: one without room is refused, and a whole one gives it back', () => {
  const budget = new BodyBudget(2 * MIB, 2 * MIB)
  const refused: string[] = []
  const open = (clientId: string) =>
    new ClientMessages(geminiLive, {
      model: null,
      openRoom: (end) => budget.open(clientId, end),
      onModel() {},
      onAsked() {},
      onClose: () => true,
      onRefused: (reason) => refused.push(`${clientId}: ${reason}`),
      isOpen: true,
      onJudged() {},
    })
  const whole = message({ setup: { model: 'models/gemini-made', x: 'x'.repeat(1.5 * MIB) } })
  const part = whole.subarray(0, 1.2 * MIB)
  const [first, second, third] = [open('c'), open('c'), open('c')]
  first?.push(part)
  expect(budget.heldBytes).toBe(part.length)
  second?.push(part)
  expect(refused).toEqual(['c: The first message of this session finds no room in memory now.'])
  expect(budget.heldBytes).toBe(part.length)
  first?.push(whole.subarray(part.length))
  expect([budget.heldBytes, first?.passableBytes]).toEqual([0, whole.length])
  third?.push(part)
  third?.releaseRoom()
  expect([budget.heldBytes, refused.length]).toEqual([0, 1])
})

test('a first message that trickles is refused, and a session that waits before it is not', () => {
  let now = 0
  const budget = new BodyBudget(2 * MIB, 2 * MIB, { now: () => now })
  const refused: string[] = []
  const events = { model: null, onModel() {}, onAsked() {}, onClose: () => true, isOpen: true, onJudged() {} }
  const open = () =>
    new ClientMessages(geminiLive, {
      ...events,
      openRoom: (end) => budget.open('c', end),
      onRefused: (reason) => refused.push(reason),
    })
  const [quiet, slow, many] = [open(), open(), open()]
  const bytes = message(setup)
  slow.push(bytes.subarray(0, 20))
  // A pong that comes in two pieces.
  const pong = Buffer.from([0x8a, 0x84, 0, 0, 0, 0, 1, 2, 3, 4])
  quiet.push(pong.subarray(0, 3))
  quiet.push(pong.subarray(3))
  now = 20_000
  budget.endSlow()
  expect(refused).toEqual(['The first message of this session comes too slowly.'])
  quiet.push(bytes)
  expect([refused.length, quiet.passableBytes]).toEqual([1, pong.length + bytes.length])
  // Behind whole pongs a first message has to come on as well.
  many.push(pong)
  many.push(bytes.subarray(0, 20))
  now = 40_000
  budget.endSlow()
  expect(refused).toEqual([refused[0], refused[0]])
})
