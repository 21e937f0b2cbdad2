// @long: ten thousand calls
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, openSession, send } from '../../http/http2/front.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { CHAT_USAGE, startUpstream, type TestUpstream } from '../../support/upstream.ts'

const SESSIONS = 100
const STREAMS = 100
const AT_ONCE = 20
const BODY = '{"model":"gpt-4o-mini","messages":[],"stream":true,"stream_options":{"include_usage":true}}'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  client = await stack.addClient('many')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

test('10,000 streams on 100 connections are answered whole, and counted exactly', async () => {
  const headers = {
    ':method': 'POST',
    ':path': '/v1/chat/completions',
    authorization: `Bearer ${client.key}`,
    'content-type': 'application/json',
    'content-length': BODY.length,
  }
  const sessions = Array.from({ length: SESSIONS }, () => openSession(stack.url))
  // The upstream runs in this process, too, so all at once could be more than it answers in time.
  const answers: Answer[] = []
  for (let wave = 0; wave < STREAMS; wave += AT_ONCE)
    answers.push(
      ...(await Promise.all(
        sessions.flatMap((session) => Array.from({ length: AT_ONCE }, () => send(session, headers, BODY))),
      )),
    )
  for (const session of sessions) session.destroy()
  const whole = answers.filter(
    ({ status, code, body }) => status === 200 && code === 0 && body.includes('[DONE]'),
  )
  expect(whole).toHaveLength(SESSIONS * STREAMS)
  expect(upstream.requests).toHaveLength(SESSIONS * STREAMS)
  expect(await stack.usageOf(client, SESSIONS * STREAMS)).toMatchObject({
    input_tokens: CHAT_USAGE.prompt_tokens * SESSIONS * STREAMS,
    output_tokens: CHAT_USAGE.completion_tokens * SESSIONS * STREAMS,
  })
}, 180_000)
