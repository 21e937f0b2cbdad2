import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { madeSessions } from '../../fixtures/sessions.ts'
import { clock, digestOf } from './call-world.ts'
import { sessionLines } from './digests.ts'
import { driveSession, type PlayedSession } from './drive-session.ts'

// As `answers.test.ts`, of sessions.

vi.mock('../../../src/gateway/estimation/estimate-thread.ts', () => import('./same-thread.ts'))

beforeAll(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => clock.now)
})
afterAll(() => {
  vi.restoreAllMocks()
})

const SAID = Buffer.from('{"type":"response.create","response":{"instructions":"say something"}}')

function spoken(): readonly Buffer[] {
  const usage = (input: number, output: number) => ({
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    output_token_details: { audio_tokens: output },
  })
  const response = (input: number, output: number) => [
    { type: 'response.created', response: { id: 'resp', status: 'in_progress', usage: null } },
    ...Array.from({ length: 8 }, () => ({ type: 'response.output_audio.delta', delta: 'A'.repeat(4000) })),
    ...['One', ' two', ' three', ' four'].map((delta) => ({
      type: 'response.output_audio_transcript.delta',
      delta,
    })),
    { type: 'response.done', response: { id: 'resp', status: 'completed', usage: usage(input, output) } },
  ]
  const session = { type: 'realtime', model: 'gpt-realtime' }
  const events = [{ type: 'session.created', session }, ...response(1000, 60), ...response(1100, 5000)]
  return events.map((event) => Buffer.from(JSON.stringify(event)))
}

const MADE = spoken()
const SPOKEN: PlayedSession = {
  provider: 'openai',
  path: '/v1/realtime',
  model: 'gpt-realtime',
  messages: MADE,
  said: SAID,
  cut: MADE.length,
  end: 'upstream ends',
  goesOn: false,
}
const AMID = { ...SPOKEN, cut: MADE.length - 3 }
const RESPONSES: PlayedSession = {
  ...SPOKEN,
  path: '/v1/responses',
  model: null,
  said: Buffer.from('{"type":"response.create","model":"o3","input":"hi"}'),
  messages: [
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', model: 'o3' } },
    { type: 'response.output_text.delta', delta: 'Hello there' },
    {
      type: 'response.completed',
      response: {
        id: 'resp_1',
        status: 'completed',
        model: 'o3',
        usage: { input_tokens: 9, output_tokens: 900, total_tokens: 909 },
      },
    },
  ].map((event) => Buffer.from(JSON.stringify(event))),
  cut: 3,
}
const IMPOSSIBLE = Buffer.from(
  '{"type":"response.done","response":{"id":"r","usage":{"input_tokens":-4,"output_tokens":2}}}',
)

const SCENES: readonly [name: string, PlayedSession][] = [
  ['a session', SPOKEN],
  ['a session without messages', { ...SPOKEN, cut: 0 }],
  ['a session whose client ends it', { ...SPOKEN, end: 'client ends' }],
  ['a session whose client breaks off', { ...SPOKEN, end: 'client breaks' }],
  ['a session that we end', { ...SPOKEN, end: 'we end' }],
  ['a session that ends amid a response', AMID],
  ['a session that breaks amid a response', { ...AMID, end: 'upstream breaks' }],
  ['a session whose client breaks off amid a response, and no more comes', { ...AMID, end: 'client breaks' }],
  ['a session whose client breaks off amid a response', { ...AMID, end: 'client breaks', goesOn: true }],
  ['a session whose client ends it amid a response', { ...AMID, end: 'client ends', goesOn: true }],
  ['a session that we end amid a response', { ...AMID, end: 'we end', goesOn: true }],
  ['a session that we end amid a response, and no more comes', { ...AMID, end: 'we end' }],
  ['a session that names its model in a message', RESPONSES],
  ['a session that hides, cut', { ...RESPONSES, cut: 2, end: 'client breaks' }],
  ['impossible counts', { ...SPOKEN, messages: [...MADE, IMPOSSIBLE], cut: MADE.length + 1 }],
  ['a path that no dialect reads', { ...SPOKEN, path: '/v1/some/socket', model: null }],
  ['a refusal', { ...SPOKEN, refusal: { status: 401, body: '{"error":{"message":"no"}}' } }],
  [
    'an answer of a GET',
    {
      ...RESPONSES,
      path: '/v1/responses/resp_7',
      refusal: {
        status: 200,
        body: '{"id":"resp_7","object":"response","status":"completed","model":"o3","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}',
      },
    },
  ],
]

test('sessions leave the records they always left', async () => {
  const text: string[] = []
  for (const [name, played] of SCENES) {
    const lines = await driveSession(played)
    text.push(`# ${name}`, ...lines.map((line) => (line.length > 4000 ? digestOf([line]) : line)), '')
  }
  await expect(text.join('\n')).toMatchFileSnapshot('sessions.golden.txt')
})

test('made sessions leave the records they always left, however they end', async () => {
  const lines: string[] = []
  for (const { provider, path, oddity, said, messages } of madeSessions) {
    const asBytes = (message: object) => Buffer.from(JSON.stringify(message))
    const played = { provider, path, said: asBytes(said), messages: messages.map(asBytes) }
    lines.push(...(await sessionLines(`${provider} ${path}: ${oddity}`, played)))
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('made-sessions.golden.txt')
})
