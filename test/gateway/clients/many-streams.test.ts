// @long: ten thousand calls at once
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSession, send } from '../../http/http2/front.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { CHAT_USAGE } from '../../support/upstream.ts'

const SESSIONS = 100
const STREAMS = 100
const BODY = '{"model":"gpt-4o-mini","messages":[],"stream":true,"stream_options":{"include_usage":true}}'

let upstream: ChildProcess
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  // In this process it would need as many sockets again, and answer only between the gateway's turns.
  upstream = fork(fileURLToPath(new URL('./upstream-process.ts', import.meta.url)))
  const [url] = await once(upstream, 'message')
  stack = await startStack(url)
  client = await stack.addClient('many')
})

afterAll(async () => {
  await stack?.stop()
  upstream?.disconnect()
})

test('10,000 streams at once on 100 connections are answered whole, and counted exactly', async () => {
  const headers = {
    ':method': 'POST',
    ':path': '/v1/chat/completions',
    authorization: `Bearer ${client.key}`,
    'content-type': 'application/json',
    'content-length': BODY.length,
  }
  // A key that is new is looked up in Postgres, which is not what this is about.
  const first = openSession(stack.url)
  expect((await send(first, { ':path': '/v1/usage', authorization: headers.authorization })).status).toBe(200)
  first.destroy()
  const sessions = Array.from({ length: SESSIONS }, () => openSession(stack.url))
  const answers = await Promise.all(
    sessions.flatMap((session) => Array.from({ length: STREAMS }, () => send(session, headers, BODY))),
  )
  for (const session of sessions) session.destroy()
  const failed = answers
    .filter(({ status, code, body }) => status !== 200 || code !== 0 || !body.includes('[DONE]'))
    .map(({ status, code, body }) => `${status} ${code} ${body}`)
  expect(failed).toEqual([])
  upstream.send('count')
  expect((await once(upstream, 'message'))[0]).toBe(SESSIONS * STREAMS)
  expect(await stack.usageOf(client, SESSIONS * STREAMS)).toMatchObject({
    input_tokens: CHAT_USAGE.prompt_tokens * SESSIONS * STREAMS,
    output_tokens: CHAT_USAGE.completion_tokens * SESSIONS * STREAMS,
  })
}, 180_000)
