import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadJobFetchConfig } from '../../../src/config/config.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { countUnsettledJobs } from '../../../src/objects/table/jobs-table.ts'
import { createCallDays } from '../../../src/rollup/call-days.ts'
import { createRollUp } from '../../../src/rollup/roll-up.ts'
import { createJobFetcher, type JobFetcher } from '../../../workers/job-fetcher.ts'
import { quiet } from '../../rollup/records.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { countUnpriced, expectSoundLedger } from '../support/late-costs.ts'

let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let fetcher: JobFetcher | null = null
let clients = 0
/** What the upstream answers, by method, path and query. */
const answers = new Map<string, unknown>()

beforeAll(async () => {
  upstream = await startUpstream(({ method, url }, response) => {
    const answer = answers.get(`${method} ${url}`)
    if (answer === undefined) json(response, 404, { error: { message: 'no such object' } })
    else if (typeof answer === 'string') {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(answer)
    } else json(response, 200, answer)
  })
  folder = await mkdtemp(join(tmpdir(), 'tallygate-other-batches-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - { name: openai, url: '${upstream.url}', provider: openai }
  - { name: together, url: '${upstream.url}/t', provider: together, path_prefix: /together }
  - { name: mistral, url: '${upstream.url}/m', provider: mistral, path_prefix: /mistral }
default_upstream: openai
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, FETCH_JOBS: 'true' } })
})
afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true })
})
beforeEach(async () => {
  answers.clear()
  upstream.requests.length = 0
  clients += 1
  client = await stack.addClient(`client-${clients}`)
  await stack.pool.query('update tallygate.objects set settled_at = now()')
})
afterEach(async () => {
  await fetcher?.close()
  fetcher = null
})

async function ask(method: string, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${stack.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect(answer.status).toBe(200)
  return await answer.json().catch(() => null)
}

/** Lets a worker fetch what it may until no job of anyone's waits. */
async function fetchAll(minAgeSeconds = 0): Promise<void> {
  const { pool } = stack
  const config = loadJobFetchConfig(stack.env)
  if (config === null) throw new Error('jobs are not to be fetched')
  const rollUp = createRollUp({ pool, callDays: createCallDays(pool, 35, quiet) })
  const worker = createJobFetcher({ pool, rollUp, config, log: quiet, minAgeSeconds })
  fetcher = worker
  await expect
    .poll(async () => {
      await worker.run()
      return (await countUnsettledJobs(pool)).jobs
    })
    .toBe(0)
}

/** Gives the client a hard budget of 10 USD. */
async function setBudget(): Promise<void> {
  const scope = { clientId: client.id, keyId: null, model: null }
  const order = { kind: 'budget', per: 'day', isSoft: false, amount: 10n ** 13n } as const
  await setLimits(stack.pool, scope, [order], 'test')
  await expect.poll(shownLimit).toMatchObject({ kind: 'budget' })
}

const shownLimit = async () => (await stack.usage(client, '?include=limits')).limits?.[0]
const chargedUsd = async () => Number((await shownLimit())?.charged_usd)

const unpriced = () => countUnpriced(stack, client)
const expectSound = () => expectSoundLedger(stack)

describe('a batch of Together’s', () => {
  const MODEL = 'meta-llama/Llama-3.3-70B-Instruct-Turbo'
  const line = (prompt_tokens: number, completion_tokens: number) =>
    `${JSON.stringify({ custom_id: 'a', response: { status_code: 200, body: { model: MODEL, choices: [], usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens } } } })}\n`
  const job = { status: 'VALIDATING', input_file_id: 'file-in-1', endpoint: '/v1/chat/completions' }

  async function submit(id: string): Promise<void> {
    const outputId = `file-out-${id}`
    answers.set('POST /t/v1/batches', { job: { ...job, id }, warning: '' })
    answers.set(`GET /t/v1/batches/${id}`, { ...job, id, status: 'COMPLETED', output_file_id: outputId })
    answers.set(`GET /t/v1/files/${outputId}/content`, line(1_000, 100) + line(2_000, 200))
    await ask('POST', '/together/v1/batches', { input_file_id: 'file-in-1' })
    await stack.usageOf(client, 1)
    expect(await unpriced()).toBe(1)
  }

  test('counts with the file that it left, read by its client', async () => {
    await submit('11111111-aaaa')
    await ask('GET', '/together/v1/batches/11111111-aaaa')
    await ask('GET', '/together/v1/files/file-out-11111111-aaaa/content')
    const summary = await stack.usageOf(client, 3)
    expect(summary).toMatchObject({ input_tokens: 3_000, output_tokens: 300 })
    expect(summary.cost_usd).toBeGreaterThan(0)
    expect(await unpriced()).toBe(0)
    await expectSound()
  })

  test('counts with the file that it left, read by a worker', async () => {
    await submit('22222222-bbbb')
    await fetchAll()
    const summary = await stack.usage(client)
    expect(summary).toMatchObject({ requests: 1, input_tokens: 3_000, output_tokens: 300 })
    expect(summary.cost_usd).toBeGreaterThan(0)
    expect(await unpriced()).toBe(0)
    await expectSound()
  })

  test('is at the list price, in part, as not all of its models are cheaper in batches', async () => {
    await submit('33333333-cccc')
    await fetchAll()
    const [settlement] = (await stack.calls(client)).filter(({ told_by }) => told_by !== null)
    expect(settlement).toMatchObject({ service_tier: 'batch', partly_unpriced: true })
    // 0.88 USD per million tokens of either kind.
    expect((await stack.usage(client)).cost_usd).toBeCloseTo((3_300 * 0.88) / 1e6, 12)
  })

  test('is in the list of its client alone', async () => {
    await submit('44444444-dddd')
    answers.set('GET /t/v1/batches', [
      { ...job, id: '44444444-dddd' },
      { ...job, id: '55555555-eeee' },
    ])
    expect(await ask('GET', '/together/v1/batches')).toMatchObject([{ id: '44444444-dddd' }])
  })
})

describe('a batch of Mistral’s', () => {
  const MODEL = 'mistral-small-latest'
  const output = (prompt_tokens: number, completion_tokens: number) => ({
    custom_id: 'a',
    response: {
      status_code: 200,
      body: {
        model: MODEL,
        choices: [{ message: { content: 'so "outputs": [{"response": {"body": {"usage": {}}}}]' } }],
        usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
      },
    },
  })
  /** What its client wrote looks like what it was answered. */
  const decoy = { outputs: [output(1, 1)] }

  async function submit(id: string, ended: object, outputs: readonly object[], count = 1): Promise<void> {
    const job = { id, object: 'batch', model: MODEL, metadata: decoy, created_at: Date.now() / 1_000 }
    const done = { ...job, status: 'SUCCESS', ...ended }
    answers.set('POST /m/v1/batch/jobs', { ...job, status: 'QUEUED' })
    answers.set(`GET /m/v1/batch/jobs/${id}`, done)
    answers.set(`GET /m/v1/batch/jobs/${id}?inline=true`, { ...done, outputs })
    await ask('POST', '/mistral/v1/batch/jobs', { model: MODEL, requests: [{ body: {} }], metadata: decoy })
    await stack.usageOf(client, count)
    expect(await unpriced()).toBe(count)
  }

  const half = (input: number, output: number) => (input * 0.15 + output * 0.6) / 2 / 1e6

  test('whose outputs stand in it counts when its client reads them, at half the price', async () => {
    await submit('job-inline-1', {}, [output(1_000, 100), output(2_000, 200)])
    await ask('GET', '/mistral/v1/batch/jobs/job-inline-1?inline=true')
    await ask('GET', '/mistral/v1/batch/jobs/job-inline-1?inline=true')
    const summary = await stack.usageOf(client, 3)
    expect(summary).toMatchObject({ input_tokens: 3_000, output_tokens: 300 })
    expect(summary.cost_usd).toBeCloseTo(half(3_000, 300), 12)
    expect(await unpriced()).toBe(0)
    await expectSound()
  })

  test('whose outputs stand in it is fetched by a worker, though its client saw it end without them', async () => {
    await submit('job-inline-2', { output_file: null }, [output(1_000, 100)])
    await ask('GET', '/mistral/v1/batch/jobs/job-inline-2')
    await stack.usageOf(client, 2)
    await fetchAll()
    const summary = await stack.usage(client)
    expect(summary).toMatchObject({ requests: 2, input_tokens: 1_000, output_tokens: 100 })
    expect(summary.cost_usd).toBeCloseTo(half(1_000, 100), 12)
    expect(await unpriced()).toBe(0)
    await expectSound()
  })

  test.each([
    ['in its file', '1', { output_file: 'out-heard-1' }, '/mistral/v1/files/out-heard-1/content'],
    ['in itself', '2', {}, '/mistral/v1/batch/jobs/job-heard-2?inline=true'],
  ])('has the tokens of sound that its prompts leave out, %s', async (_, number, ended, results) => {
    const usage = { prompt_tokens: 4, completion_tokens: 5, total_tokens: 384, prompt_audio_seconds: 30 }
    const heard = { response: { body: { model: 'voxtral-small-latest', choices: [], usage } } }
    await submit(`job-heard-${number}`, ended, [heard])
    answers.set('GET /m/v1/files/out-heard-1/content', `${JSON.stringify(heard)}\n`)
    await ask('GET', `/mistral/v1/batch/jobs/job-heard-${number}`)
    await ask('GET', results)
    expect(await stack.usageOf(client, 3)).toMatchObject({ input_tokens: 379, output_tokens: 5 })
  })

  test('of thousands of outputs counts all of them', async () => {
    const outputs = Array.from({ length: 3_000 }, () => output(10, 1))
    await submit('job-inline-3', {}, outputs)
    await ask('GET', '/mistral/v1/batch/jobs/job-inline-3?inline=true')
    expect(await stack.usageOf(client, 2)).toMatchObject({ input_tokens: 30_000, output_tokens: 3_000 })
  })

  test('that still runs tells nothing of what it has put out until now', async () => {
    await submit('job-inline-4', { status: 'RUNNING' }, [output(10, 1)])
    await ask('GET', '/mistral/v1/batch/jobs/job-inline-4?inline=true')
    expect(await stack.usageOf(client, 2)).toMatchObject({ input_tokens: 0, output_tokens: 0 })
    expect(await unpriced()).toBe(1)
  })

  test('that its client sees end in a list alone is not lost with its file: that is read before it is deleted', async () => {
    await submit('job-listed-1', { output_file: 'out-listed-1' }, [])
    answers.set('GET /m/v1/batch/jobs', {
      data: [answers.get('GET /m/v1/batch/jobs/job-listed-1')],
      total: 1,
    })
    answers.set('GET /m/v1/files/out-listed-1', { id: 'out-listed-1', purpose: 'batch', source: 'mistral' })
    answers.set('GET /m/v1/files/out-listed-1/url', { url: 'https://storage.example/out?signature=a' })
    answers.set('GET /m/v1/files/out-listed-1/content', `${JSON.stringify(output(1_000, 100))}\n`)
    answers.set('DELETE /m/v1/files/out-listed-1', { id: 'out-listed-1', deleted: true })
    await ask('GET', '/mistral/v1/batch/jobs')
    await ask('GET', '/mistral/v1/files/out-listed-1/url')
    await ask('DELETE', '/mistral/v1/files/out-listed-1')
    answers.delete('GET /m/v1/files/out-listed-1/content')
    await fetchAll()
    const summary = await stack.usage(client)
    expect(summary).toMatchObject({ input_tokens: 1_000, output_tokens: 100 })
    expect(summary.cost_usd).toBeCloseTo(half(1_000, 100), 12)
    await expectSound()
  })

  test.each([
    ['that is not there', 'job-asked-1', null],
    ['that is for another purpose', 'job-asked-2', { id: 'a-file', purpose: 'fine-tune' }],
  ])('is asked nothing before a file is deleted %s', async (_, id, file) => {
    await submit(id, { status: 'RUNNING' }, [])
    await submit(`${id}-too`, { status: 'RUNNING' }, [], 2)
    if (file !== null) answers.set('GET /m/v1/files/a-file', file)
    answers.set('DELETE /m/v1/files/a-file', { id: 'a-file', deleted: true })
    upstream.requests.length = 0
    await ask('DELETE', '/mistral/v1/files/a-file')
    expect(upstream.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /m/v1/files/a-file',
      'DELETE /m/v1/files/a-file',
    ])
  })

  test('does not have its file deleted that may be of one of more than twenty, and few requests ask', async () => {
    for (let count = 1; count <= 21; count += 1)
      await submit(`job-many-${count}`, { output_file: 'out-many' }, [], count)
    answers.set('GET /m/v1/files/out-many', { id: 'out-many', purpose: 'batch' })
    upstream.requests.length = 0
    const refused = await fetch(`${stack.url}/mistral/v1/files/out-many`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${client.key}` },
    })
    expect(refused.status).toBe(502)
    expect(upstream.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /m/v1/files/out-many',
    ])
  })

  test('whose file is gone before it could be read stays charged to a hard budget', async () => {
    await setBudget()
    await submit('job-gone-1', { output_file: 'out-gone-1' }, [])
    await fetchAll()
    await expect.poll(chargedUsd).toBe(1)
    expect(await unpriced()).toBe(1)
  })

  test.each([
    ['that has ended', 'signed-1', 'SUCCESS'],
    ['that failed, and left one all the same,', 'signed-2', 'FAILED'],
  ])('%s whose file its client reads by a signed address is fetched at once', async (_, name, status) => {
    await submit(`job-${name}`, { output_file: `out-${name}`, status }, [])
    answers.set(`GET /m/v1/files/out-${name}/url`, { url: 'https://storage.example/out?signature=a' })
    answers.set(`GET /m/v1/files/out-${name}/content`, `${JSON.stringify(output(1_000, 100))}\n`)
    await ask('GET', `/mistral/v1/batch/jobs/job-${name}`)
    await ask('GET', `/mistral/v1/files/out-${name}/url`)
    await stack.usageOf(client, 3)
    // A job of which nothing was read is left to its client for a while.
    await fetchAll(300)
    const summary = await stack.usage(client)
    expect(summary).toMatchObject({ requests: 3, input_tokens: 1_000, output_tokens: 100 })
    expect(summary.cost_usd).toBeCloseTo(half(1_000, 100), 12)
    await expectSound()
  })
})
