// xAI gives the result of a completion that was put off out once, and keeps it for 24 hours.
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { loadJobFetchConfig } from '../../../src/config/config.ts'
import { countUnsettledJobs } from '../../../src/objects/table/jobs-table.ts'
import { createCallDays } from '../../../src/rollup/call-days.ts'
import { createRollUp } from '../../../src/rollup/roll-up.ts'
import { createJobFetcher } from '../../../workers/job-fetcher.ts'
import { quiet } from '../../rollup/records.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { countUnpriced, expectSoundLedger } from '../support/late-costs.ts'

let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let other: TestClient
let number = 0
let id = ''
/** How the upstream answers for the result. */
let answerResult: (response: ServerResponse) => void
/** How often it was asked for it. */
let asked = 0

const SUBMITTED = '{"model":"grok-4","deferred":true,"messages":[]}'
const RESULT = {
  id: 'another-id-than-the-request',
  object: 'chat.completion',
  model: 'grok-4',
  choices: [{ finish_reason: 'stop', message: { content: 'Yes.' } }],
  usage: { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 },
}
/** Grok 4 at 1.25 and 2.50 USD per million tokens. */
const COUNTED = { input_tokens: 1_000, output_tokens: 100, cost_usd: 0.0015 }

beforeAll(async () => {
  upstream = await startUpstream(({ method }, response) => {
    if (method === 'POST') json(response, 200, { request_id: id })
    else if (asked++ > 0 && answerResult === giveOut) json(response, 404, { error: 'not found' })
    else answerResult(response)
  })
  folder = await mkdtemp(join(tmpdir(), 'tallygate-deferred-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(file, `upstreams: [{ name: xai, url: '${upstream.url}', provider: xai }]\n`)
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, FETCH_JOBS: 'true' } })
})
afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true })
})
beforeEach(async () => {
  number += 1
  client = await stack.addClient(`client-${number}`)
  other = await stack.addClient(`other-${number}`)
  id = `f15c114e-f47d-40ca-8d5c-${number}`
  asked = 0
  answerResult = giveOut
})

function giveOut(response: ServerResponse): void {
  json(response, 200, RESULT)
}

async function ask({ key }: TestClient, path: string, body?: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const method = body === undefined ? 'GET' : 'POST'
  const answer = await fetch(`${stack.url}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  await answer.text()
  return answer.status
}

async function submit(path = '/v1/chat/completions', body = SUBMITTED): Promise<void> {
  expect(await ask(client, path, body)).toBe(200)
  await stack.usageOf(client, 1)
  expect((await stack.calls(client))[0]).toMatchObject({ cost_pico: null, unpriced_reason: 'billed_later' })
}

async function expectSettled(requests: number, counted: object = COUNTED): Promise<void> {
  expect(await stack.usageOf(client, requests)).toMatchObject(counted)
  await expect.poll(async () => (await countUnsettledJobs(stack.pool)).jobs).toBe(0)
  expect(await countUnpriced(stack, client)).toBe(0)
  await expectSoundLedger(stack)
}

test.each([
  ['as the reference has it', '/v1/chat/completions', SUBMITTED, '/v1/chat/deferred-completion/'],
  ['without the version', '/chat/completions', SUBMITTED, '/chat/deferred-completion/'],
  [
    'in other spellings',
    '/V1/chat/c%6Fmpletions',
    SUBMITTED.replace('"deferred"', String.raw`"d\u0065ferred"`),
    '/v1/Chat//deferred%2Dcompletion/',
  ],
])('a deferred completion that is asked for %s is its submitter’s', async (_name, path, body, result) => {
  await submit(path, body)
  expect((await countUnsettledJobs(stack.pool)).jobs).toBe(1)
  expect(await ask(other, `${result}${id}`)).toBe(404)
  expect(asked).toBe(0)
  expect(await ask(client, `${result}${id}`)).toBe(200)
  await expectSettled(2)
})

test('a client that hangs up as the result is delivered pays for all of it', async () => {
  await submit()
  const body = JSON.stringify(RESULT)
  const answering = new Promise<ServerResponse>((resolve) => {
    answerResult = resolve
  })
  const sent = request(`${stack.url}/v1/chat/deferred-completion/${id}`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  sent.on('error', () => {}).end()
  const response = await answering
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write(body.slice(0, 40))
  await once(sent, 'response')
  sent.destroy()
  await expect.poll(() => stack.gateway.unattendedCalls()).toBeGreaterThan(0)
  response.end(body.slice(40))
  await expectSettled(2)
  expect((await stack.calls(client)).map(({ outcome }) => outcome)).toContain('client_aborted')
})

test('a client that hangs up before xAI answers with the result pays for all of it', async () => {
  await submit()
  const answering = new Promise<ServerResponse>((resolve) => {
    answerResult = resolve
  })
  const sent = request(`${stack.url}/v1/chat/deferred-completion/${id}`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  sent.on('error', () => {}).end()
  const response = await answering
  sent.destroy()
  await expect.poll(() => stack.gateway.unattendedCalls()).toBeGreaterThan(0)
  json(response, 200, RESULT)
  await expectSettled(2)
})

test('a deferred completion is left to its client until shortly before xAI discards it', async () => {
  await submit()
  const { pool } = stack
  const config = loadJobFetchConfig(stack.env)
  if (config === null) throw new Error('jobs are not to be fetched')
  const rollUp = createRollUp({ pool, callDays: createCallDays(pool, 35, quiet) })
  const fetcher = createJobFetcher({ pool, rollUp, config, log: quiet, minAgeSeconds: 0 })
  const made = await pool.query('select created_at from tallygate.objects where id = $1', [id])
  const fetchAt = async (createdAt: string) => {
    await pool.query(
      `update tallygate.objects set created_at = ${createdAt}, fetch_after = null where id = $1`,
      [id],
    )
    await fetcher.run()
  }
  try {
    answerResult = (response) => response.writeHead(202).end()
    await fetchAt("now() - interval '22 hours 59 minutes'")
    expect(asked).toBe(0)
    await fetchAt("now() - interval '23 hours'")
    expect(asked).toBe(1)
    // It is not ready: that says nothing of it.
    expect((await countUnsettledJobs(pool)).jobs).toBe(1)
    answerResult = (response) => json(response, 200, RESULT)
    // What it used counts on the day on which its call was counted.
    await pool.query('update tallygate.objects set created_at = $2, fetch_after = now() where id = $1', [
      id,
      made.rows[0]?.created_at,
    ])
    await fetcher.run()
  } finally {
    await fetcher.close()
  }
  await expectSettled(1)
})
