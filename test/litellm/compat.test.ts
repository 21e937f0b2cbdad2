import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { addDays } from '../../src/domain/utc-day.ts'
import { setLimits } from '../../src/limits/table/change-limits.ts'
import { LITELLM_PATHS } from '../../src/litellm/compat/own-paths.ts'
import { rounds } from '../support/rounds.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { chatAnswer, startUpstream, type TestUpstream } from '../support/upstream.ts'

/** Of 11 prompt tokens and 7 generated ones of gpt-4o-mini. */
const CALL_USD = (11 * 0.15 + 7 * 0.6) / 1e6

let folder: string
let upstream: TestUpstream
let stack: TestStack
let acme: TestClient
let beta: TestClient
/** Of beta's calls. */
const ids: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-compat-'))
  upstream = await startUpstream(async (request, response) => {
    // A LiteLLM behind the gateway says this of the gateway's own key.
    response.setHeader('x-litellm-key-spend', '99')
    response.setHeader('x-litellm-response-cost', '9')
    await chatAnswer(request, response)
  })
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `compat: litellm
upstreams: [{ name: only, url: '${upstream.url}', provider: openai }]
routes: [{ model: smart, to: [{ upstream: only, model: gpt-4o-mini }] }]
`,
  )
  stack = await startStack('', { env: { UPSTREAM_URL: '', UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
  acme = await stack.addClient('acme', { models: ['gpt-4o-mini', 'smart'] })
  beta = await stack.addClient('beta of the secret plans')
  await setLimits(
    stack.pool,
    { clientId: acme.id, keyId: acme.keyId, model: null },
    [
      { kind: 'budget', per: 'month', isSoft: false, amount: 5_000_000_000_000n },
      { kind: 'requests', per: null, isSoft: false, amount: 600n },
    ],
    'test',
  )
  await setLimits(
    stack.pool,
    { clientId: beta.id, keyId: null, model: null },
    [{ kind: 'budget', per: 'day', isSoft: false, amount: 7_654_321_000_000n }],
    'test',
  )
  for (const client of [acme, beta])
    await vi.waitFor(async () =>
      expect((await stack.usage(client, '?include=limits')).limits?.length).toBeGreaterThan(0),
    )
  await chat(acme)
  await chat(acme, { model: 'smart' })
  for (const _ of [1, 2, 3, 4, 5]) await chat(beta, { model: 'gpt-4o' })
  await stack.usageOf(acme, 2)
  await stack.usageOf(beta, 5)
  for (const row of await stack.calls(beta)) ids.push(`${row.call_id}`)
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

const hash = ({ key }: TestClient) => createHash('sha256').update(key).digest('hex')

async function chat(client: TestClient, more: object = {}): Promise<Response> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', max_tokens: 10, messages: [], ...more }),
  })
  expect(answer.status).toBe(200)
  return answer
}

function ask(client: TestClient, target: string): Promise<Response> {
  return fetch(stack.url + target, { headers: { authorization: `Bearer ${client.key}` } })
}

// biome-ignore lint/suspicious/noExplicitAny: documents of another's making, read as its programs read them
async function shown(client: TestClient, target: string): Promise<any> {
  const answer = await ask(client, target)
  expect([target, answer.status]).toEqual([target, 200])
  return await answer.json()
}

test('a key is shown what it spent and may, in the words of LiteLLM', async () => {
  const { key, info } = await shown(acme, '/key/info')
  expect(key).toBe(hash(acme))
  expect(info).toMatchObject({
    key_alias: 'default',
    user_id: acme.id,
    team_id: null,
    models: ['gpt-4o-mini', 'smart'],
    max_budget: 5,
    budget_duration: '1mo',
    rpm_limit: 600,
    tpm_limit: null,
    blocked: false,
    status: 'active',
    expires: null,
  })
  expect(info.spend).toBeCloseTo(2 * CALL_USD, 15)
  expect(info.budget_reset_at).toMatch(/^\d{4}-\d{2}-01T00:00:00/)
  expect(info.token).toBeUndefined()
  // It may name itself, in each way that programs do.
  for (const name of [hash(acme), acme.keyId, acme.key])
    expect((await shown(acme, `/key/info?key=${name}`)).info.spend).toBe(info.spend)
  // Another one is not found, whether there is one or not.
  for (const name of [beta.key, hash(beta), beta.keyId, 'sk-none'])
    expect((await ask(acme, `/key/info?key=${name}`)).status).toBe(404)
  const user = await shown(acme, `/user/info?user_id=${acme.id}`)
  expect(user).toMatchObject({
    user_id: acme.id,
    teams: [],
    user_info: { user_alias: 'acme', max_budget: null },
  })
  expect(user.user_info.spend).toBe(info.spend)
  expect(user.keys).toMatchObject([{ token: hash(acme), spend: info.spend, max_budget: 5 }])
})

test('what it spent stands by day and by call', async () => {
  const rows = await shown(acme, '/spend/logs')
  const [from, to] = [rows.at(-1), rows[0]].map(({ startTime }) => startTime.slice(0, 10))
  const days = await shown(acme, `/spend/logs?start_date=${from}&end_date=${addDays(to, 1)}`)
  let spent = 0
  for (const day of days) {
    expect(day.models).toEqual(day.spend === 0 ? {} : { 'gpt-4o-mini': day.spend })
    expect(day[hash(acme)] ?? 0).toBe(day.spend)
    spent += day.spend
  }
  expect(spent).toBeCloseTo(2 * CALL_USD, 15)
  expect(days.at(-1)).toEqual({ startTime: addDays(to, 1), spend: 0, users: {}, models: {} })
  expect(rows.map((row: { model_group: string }) => row.model_group)).toEqual(['gpt-4o-mini', 'gpt-4o-mini'])
  expect(rows[0]).toMatchObject({
    api_key: hash(acme),
    call_type: 'acompletion',
    model: 'gpt-4o-mini',
    prompt_tokens: 11,
    completion_tokens: 7,
    total_tokens: 18,
    user: acme.id,
    status: 'success',
    custom_llm_provider: 'openai',
  })
  expect(rows[0].spend).toBeCloseTo(CALL_USD, 15)
  const { litellm_call_id: callId } = rows[1]
  expect(await shown(acme, `/spend/logs?request_id=${callId}`)).toEqual([rows[1]])
  expect((await ask(acme, '/spend/logs?start_date=2026-02-30&end_date=2026-03-01')).status).toBe(400)
  // What no store takes is the client's mistake, not the store's.
  expect((await ask(acme, '/spend/logs?start_date=0000-01-01&end_date=0000-01-02')).status).toBe(400)
  expect(await shown(acme, '/spend/logs?request_id=%00')).toEqual([])
})

test('models have the prices of the client, and only those of the key', async () => {
  const { data } = await shown(acme, '/v1/model/info')
  const names = data.map(({ model_name }: { model_name: string }) => model_name)
  expect(names.toSorted()).toEqual(['gpt-4o-mini', 'smart'])
  for (const { litellm_params: params, model_info: model } of data) {
    expect(params.model).toBe('openai/gpt-4o-mini')
    expect(model.input_cost_per_token).toBeCloseTo(0.15e-6, 18)
    expect(model.output_cost_per_token).toBeCloseTo(0.6e-6, 18)
    expect(model.cache_read_input_token_cost).toBeCloseTo(0.075e-6, 18)
    expect((await shown(acme, `/model/info?litellm_model_id=${model.id}`)).data).toHaveLength(1)
  }
  const { data: groups } = await shown(acme, '/model_group/info?model_group=smart')
  expect(groups).toMatchObject([{ model_group: 'smart', providers: ['openai'], mode: null }])
  expect(groups[0].input_cost_per_token).toBeCloseTo(0.15e-6, 18)
})

test('answers have the headers that its programs read, and none of another LiteLLM', async () => {
  const whole = await chat(acme, { model: 'smart' })
  const { headers } = whole
  expect(headers.get('x-litellm-call-id')).toBe(headers.get('x-tallygate-call-id'))
  expect(Number(headers.get('x-litellm-response-cost'))).toBeCloseTo(CALL_USD, 15)
  expect(headers.get('x-litellm-model-group')).toBe('smart')
  expect(headers.get('x-litellm-key-rpm-limit')).toBe('600')
  expect(headers.get('x-litellm-key-max-budget')).toBe('5')
  expect(headers.get('x-litellm-key-spend')).toBeNull()
  const { data } = await shown(acme, `/model/info?litellm_model_id=${headers.get('x-litellm-model-id')}`)
  expect(data).toMatchObject([{ model_name: 'smart' }])
  // Its cost is known only behind it.
  const stream = await chat(acme, { stream: true })
  await stream.text()
  expect(stream.headers.get('x-litellm-response-cost')).toBeNull()
  expect(stream.headers.get('x-litellm-call-id')).not.toBeNull()
})

test('health needs no key', async () => {
  for (const name of ['liveliness', 'liveness'])
    expect(await (await fetch(`${stack.url}/health/${name}`)).json()).toBe("I'm alive!")
  const ready = await fetch(`${stack.url}/health/readiness`)
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'healthy', db: 'connected' }])
})

/** Everything that another client's program could name, and all that LiteLLM has parameters for. */
const PARAMETERS = [
  ...['key', 'api_key', 'user_id', 'request_id', 'start_date', 'end_date', 'summarize', 'team_id'],
  ...['litellm_model_id', 'model_group', 'hash', 'token', 'page', 'end_user', 'key_alias', 'api-key'],
]

test('no key reads what is another client’s, whatever it asks for, and nothing of it is a call', async () => {
  const asked = upstream.requests.length
  const values = fc.constantFrom(
    ...[beta.key, hash(beta), beta.keyId, beta.id, beta.name, ...ids],
    // Calls of both have this one.
    ...[
      'chatcmpl-1',
      '',
      '*',
      '%',
      'null',
      'false',
      'true',
      '2020-01-01',
      '2999-01-01',
      "' or 1=1 --",
      acme.id,
      acme.keyId,
    ],
  )
  const request = fc.record({
    path: fc.constantFrom(...LITELLM_PATHS),
    spelled: fc.constantFrom('', '/v1', '/v1/v1'),
    query: fc.array(fc.tuple(fc.constantFrom(...PARAMETERS), values), { maxLength: 4 }),
  })
  const secrets = [beta.key, hash(beta), beta.keyId, beta.id, beta.name, '7.654321', ...ids]
  await fc.assert(
    fc.asyncProperty(request, async ({ path, spelled, query }) => {
      const answer = await ask(acme, `${spelled}${path}?${new URLSearchParams(query)}`)
      const text = await answer.text()
      expect([200, 400, 404]).toContain(answer.status)
      for (const secret of secrets) expect(text).not.toContain(secret)
      // An answer about another model would have its name.
      if (path.startsWith('/spend')) expect(text).not.toContain('"gpt-4o"')
    }),
    { seed: 7, numRuns: rounds({ short: 60, long: 2_000 }) },
  )
  expect(upstream.requests.length).toBe(asked)
})
