// A job that is submitted through one gateway and fetched through another counts as if there were one.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadGatewayConfig, loadJobFetchConfig } from '../../src/config/config.ts'
import { type RunningGateway, runGateway } from '../../src/gateway/run-gateway.ts'
import { createLog } from '../../src/lib/log.ts'
import { countUnsettledJobs } from '../../src/objects/table/jobs-table.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import { createJobFetcher } from '../../workers/job-fetcher.ts'
import { startWorkers } from '../../workers/workers.ts'
import { countUnpriced, expectSoundLedger } from '../gateway/support/late-costs.ts'
import { quiet } from '../rollup/records.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../support/upstream.ts'

let folder: string
let upstream: TestUpstream
let stack: TestStack
let other: RunningGateway
let client: TestClient
let clients = 0
/** What the upstream answers, by method and path. */
const answers = new Map<string, object | string>()

beforeAll(async () => {
  upstream = await startUpstream(({ method, url }, response) => {
    const answer = answers.get(`${method} ${url}`)
    if (answer === undefined) json(response, 404, { error: { message: 'no such object' } })
    else if (typeof answer === 'string') response.writeHead(200).end(answer)
    else json(response, 200, answer)
  })
  folder = await mkdtemp(join(tmpdir(), 'tallygate-jobs-elsewhere-'))
  const file = join(folder, 'tallygate.yaml')
  const kinds = ['shared', 'owned'].flatMap((objects) =>
    ['alibaba', 'mistral'].map(
      (provider) =>
        `  - { name: ${provider}-${objects}, url: '${upstream.url}/${provider}-${objects}', provider: ${provider}, path_prefix: /${provider}-${objects}, objects: ${objects} }`,
    ),
  )
  await writeFile(file, `upstreams:\n${kinds.join('\n')}\n`)
  const env = { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, FETCH_JOBS: 'true' }
  stack = await startStack('', { env, workers: false })
  const journalDir = join(folder, 'journal')
  other = await runGateway(
    loadGatewayConfig({ ...stack.env, JOURNAL_DIR: journalDir }),
    createLog('silent', 'test'),
  )
})
afterAll(async () => {
  await other?.stop()
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true })
})
beforeEach(async () => {
  answers.clear()
  clients += 1
  client = await stack.addClient(`client-${clients}`)
})

type Place = 'here' | 'there'

async function ask(place: Place, method: string, path: string, by = client): Promise<void> {
  const base = place === 'here' ? stack.url : `http://127.0.0.1:${other.address.port}`
  const answer = await fetch(`${base}${path}`, {
    method,
    headers: { authorization: `Bearer ${by.key}`, 'content-type': 'application/json' },
    ...(method === 'POST' ? { body: JSON.stringify({ model: MODEL_OF(path), input: {} }) } : {}),
  })
  expect(answer.status).toBe(200)
  await answer.text()
}

const MODEL_OF = (path: string) => (path.startsWith('/alibaba') ? 'qwen-plus' : 'mistral-small-latest')

/** Counts what gateways have recorded, until the client has so many requests. */
async function rollUp(requests: number): Promise<void> {
  const workers = startWorkers({ ...loadGatewayConfig(stack.env), jobFetching: null, log: quiet })
  try {
    await stack.usageOf(client, requests)
  } finally {
    await workers.close()
  }
}

/** Lets a worker fetch once what is due. @param minAgeSeconds by default only what is hastened is. */
async function fetchDue(minAgeSeconds = 300): Promise<void> {
  const { pool } = stack
  const config = loadJobFetchConfig(stack.env)
  if (config === null) throw new Error('jobs are not to be fetched')
  const counted = createRollUp({ pool, callDays: createCallDays(pool, 35, quiet) })
  const fetcher = createJobFetcher({ pool, rollUp: counted, config, log: quiet, minAgeSeconds })
  try {
    await fetcher.run()
  } finally {
    await fetcher.close()
  }
}

/** The use counts once, at a price, under its model, and nothing waits any more. */
async function expectCounted(model: string, tokens: object, requests = 2): Promise<void> {
  const summary = await stack.usage(client)
  expect(summary).toMatchObject({ requests, ...tokens })
  expect(summary.cost_usd).toBeGreaterThan(0)
  expect(await countUnpriced(stack, client)).toBe(0)
  expect((await countUnsettledJobs(stack.pool)).jobs).toBe(0)
  const settlements = (await stack.calls(client)).filter(({ told_by }) => told_by !== null)
  expect(settlements).toMatchObject([{ model }])
  await expectSoundLedger(stack)
}

describe.each(['shared', 'owned'])('where objects are %s', (objects) => {
  const alibaba = `/alibaba-${objects}`
  const submitTo = `${alibaba}/api/v1/services/aigc/text-generation/generation`

  /** A task of Alibaba's that has ended by the time it is asked for; gives its path. */
  async function submitTask(id: string): Promise<string> {
    const task = `${alibaba}/api/v1/tasks/${id}`
    answers.set(`POST ${submitTo}`, { request_id: 'a', output: { task_id: id, task_status: 'PENDING' } })
    const usage = { input_tokens: 40, output_tokens: 2, total_tokens: 42 }
    answers.set(`GET ${task}`, { request_id: 'b', output: { task_id: id, task_status: 'SUCCEEDED' }, usage })
    await ask('here', 'POST', submitTo)
    return task
  }

  const TASK = { input_tokens: 40, output_tokens: 2 }

  test(`a task of Alibaba’s, whose answers name no model, counts under that of its submission: ${objects}`, async () => {
    const task = await submitTask(`t-${objects}-1`)
    await rollUp(1)
    for (let times = 0; times < 2; times += 1) await ask('there', 'GET', task)
    await rollUp(3)
    await expectCounted('qwen-plus', TASK, 3)
  })

  test(`a task of Alibaba’s that is fetched before its submission is counted is fetched again: ${objects}`, async () => {
    const task = await submitTask(`t-${objects}-2`)
    await ask('there', 'GET', task)
    await rollUp(2)
    expect((await countUnsettledJobs(stack.pool)).jobs).toBe(1)
    await fetchDue(0)
    await expectCounted('qwen-plus', TASK)
  })

  const mistral = `/mistral-${objects}`
  const body = {
    model: 'mistral-small-latest',
    usage: { prompt_tokens: 300, completion_tokens: 20, total_tokens: 320 },
  }

  /** A batch of Mistral's that ended so and left a file; gives its path. */
  async function submitBatch(id: string, status = 'SUCCESS'): Promise<string> {
    const batch = `${mistral}/v1/batch/jobs/${id}`
    answers.set(`POST ${mistral}/v1/batch/jobs`, { id, object: 'batch', status: 'QUEUED' })
    answers.set(`GET ${batch}`, { id, object: 'batch', status, output_file: `out-${id}` })
    const line = JSON.stringify({ response: { status_code: 200, body } })
    answers.set(`GET ${mistral}/v1/files/out-${id}/content`, `${line}\n`)
    await ask('here', 'POST', `${mistral}/v1/batch/jobs`)
    return batch
  }

  const BATCH = { input_tokens: 300, output_tokens: 20 }

  test.each([
    'SUCCESS',
    'FAILED',
  ])(`a batch that ended with %s counts with its file, read where the batch was: ${objects}`, async (status) => {
    const id = `job-${objects}-${status.toLowerCase()}-1`
    const batch = await submitBatch(id, status)
    await rollUp(1)
    await ask('there', 'GET', batch)
    await ask('there', 'GET', `${mistral}/v1/files/out-${id}/content`)
    await rollUp(3)
    await expectCounted('mistral-small-latest', BATCH, 3)
  })

  test.each([
    ['its file', (id: string) => `${mistral}/v1/files/out-${id}`],
    ['itself', (id: string) => `${mistral}/v1/batch/jobs/${id}`],
  ])(`a batch of which %s is deleted elsewhere, before anyone saw its end, counts: ${objects}`, async (what, pathOf) => {
    const id = `job-${objects}-${what.replace(' ', '-')}-3`
    const path = pathOf(id)
    await submitBatch(id)
    answers.set(`GET ${mistral}/v1/files/out-${id}`, { id: `out-${id}`, purpose: 'batch' })
    answers.set(`DELETE ${path}`, { id, deleted: true })
    await rollUp(1)
    await ask('there', 'DELETE', path)
    expect(upstream.requests.at(-1)?.method).toBe('DELETE')
    await rollUp(2)
    await expectCounted('mistral-small-latest', BATCH)
  })

  test.each([
    'SUCCESS',
    'FAILED',
  ])(`a batch that is read before its submission is counted, ended with %s, is fetched by a worker: ${objects}`, async (status) => {
    const batch = await submitBatch(`job-${objects}-${status.toLowerCase()}-2`, status)
    await ask('there', 'GET', batch)
    await rollUp(2)
    expect((await countUnsettledJobs(stack.pool)).jobs).toBe(1)
    await fetchDue(0)
    await expectCounted('mistral-small-latest', BATCH)
  })
})

test('a batch that another client reads first, where objects are shared, is fetched at once, with its file', async () => {
  const batch = '/mistral-shared/v1/batch/jobs/job-other-1'
  answers.set('POST /mistral-shared/v1/batch/jobs', { id: 'job-other-1', status: 'QUEUED' })
  answers.set(`GET ${batch}`, { id: 'job-other-1', status: 'SUCCESS', output_file: 'out-other-1' })
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
  const line = { response: { status_code: 200, body: { model: 'mistral-small-latest', usage } } }
  answers.set('GET /mistral-shared/v1/files/out-other-1/content', `${JSON.stringify(line)}\n`)
  await ask('here', 'POST', '/mistral-shared/v1/batch/jobs')
  await rollUp(1)
  const reader = await stack.addClient('reader-of-others')
  await ask('here', 'GET', batch, reader)
  const submitter = client
  client = reader
  await rollUp(1)
  client = submitter
  await fetchDue()
  await expectCounted('mistral-small-latest', { input_tokens: 7, output_tokens: 3 }, 1)
})
