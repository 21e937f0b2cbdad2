import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadJobFetchConfig } from '../../src/config/config.ts'
import { NOTHING_KEPT } from '../../src/config/current-catalog.ts'
import { verifyLedger } from '../../src/corrections/verify.ts'
import { countUnsettledJobs } from '../../src/objects/table/jobs-table.ts'
import type { Catalog } from '../../src/pricing/catalog/catalog.ts'
import { catalogOfText } from '../../src/pricing/sources/catalog-file.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import { createJobFetcher, type JobFetcher } from '../../workers/job-fetcher.ts'
import { type ObjectUpstream, startObjectUpstream } from '../objects/object-upstream.ts'
import { quiet } from '../rollup/records.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'

let folder: string
let upstream: ObjectUpstream
let stack: TestStack
let client: TestClient
let fetchers: JobFetcher[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-jobs-'))
  upstream = await startObjectUpstream()
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - { name: openai, url: '${upstream.url}', provider: openai }
  - { name: claude, url: '${upstream.url}', provider: anthropic, path_prefix: /claude }
default_upstream: openai
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, FETCH_JOBS: 'true' } })
  client = await stack.addClient('submitter')
  fetchers = []
})

afterEach(async () => {
  await Promise.all(fetchers.map((fetcher) => fetcher.close()))
  await stack.stop()
  await upstream.close()
  await rm(folder, { recursive: true })
})

function openFetcher(): JobFetcher {
  const config = loadJobFetchConfig(stack.env)
  if (config === null) throw new Error('jobs are not to be fetched')
  const { pool } = stack
  const rollUp = createRollUp({ pool, callDays: createCallDays(pool, 35, quiet) })
  const fetcher = createJobFetcher({ pool, rollUp, config, log: quiet, minAgeSeconds: 0 })
  fetchers.push(fetcher)
  return fetcher
}

async function submit(path: string, body: object = {}): Promise<string> {
  const answer = await fetch(stack.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return ((await answer.json()) as { id: string }).id
}

const makeDue = () => stack.pool.query('update tallygate.objects set fetch_after = null')

test('jobs that no client fetches are fetched by the worker, and what they used is their maker’s, once', async () => {
  await submit('/v1/batches')
  const response = await submit('/v1/responses', { model: 'gpt-4o-mini', background: true })
  await submit('/claude/v1/messages/batches')
  await stack.usageOf(client, 3)
  expect((await countUnsettledJobs(stack.pool)).jobs).toBe(3)

  const fetcher = openFetcher()
  expect(await fetcher.run()).toEqual({ fetched: 3, counted: 0 })
  // Still running: each is left in peace for a while.
  expect(await fetcher.run()).toEqual({ fetched: 0, counted: 0 })

  upstream.endJobs()
  await makeDue()
  expect(await fetcher.run()).toEqual({ fetched: 3, counted: 3 })
  const used = { input_tokens: 1_000 + 100 + 100, output_tokens: 500 + 50 + 50 }
  expect(await stack.usage(client)).toMatchObject(used)
  expect((await countUnsettledJobs(stack.pool)).jobs).toBe(0)

  await fetch(`${stack.url}/v1/responses/${response}`, { headers: { authorization: `Bearer ${client.key}` } })
  expect(await stack.usageOf(client, 4)).toMatchObject(used)
  const fetched = (await stack.calls(client)).filter(({ fetched_by_client_id: by }) => by === '(gateway)')
  expect(fetched.map(({ usage_source: source }) => source)).toEqual(['reported', 'reported', 'reported'])
  const { proof, differences } = await verifyLedger(stack.pool, '2020-01-01')
  expect(differences).toEqual([])
  expect(proof.totals).toBe(proof.counted)
})

test('what a worker fetches has the markup of the client that submitted it', async () => {
  const file = stack.env.TALLYGATE_CONFIG ?? ''
  const withMarkup = `${await readFile(file, 'utf8')}markups:\n  - { client: submitter, factor: '1.5' }\n`
  await submit('/v1/responses', { model: 'gpt-4o-mini', background: true })
  await stack.usageOf(client, 1)
  upstream.endJobs()
  await writeFile(file, withMarkup)
  expect(await openFetcher().run()).toEqual({ fetched: 1, counted: 1 })
  const reported = (await stack.calls(client)).find(({ told_by: by }) => by !== null)
  expect(reported?.cost_pico).toBe(`${((100 * 150_000 + 50 * 600_000) * 3) / 2}`)
})

test('workers that fetch side by side count each job once', async () => {
  for (let index = 0; index < 30; index += 1) await submit('/v1/batches')
  await stack.usageOf(client, 30)
  upstream.endJobs()
  const workers = [openFetcher(), openFetcher(), openFetcher()]
  await expect
    .poll(async () => {
      await makeDue()
      await Promise.all(workers.map((fetcher) => fetcher.run()))
      return (await countUnsettledJobs(stack.pool)).jobs
    })
    .toBe(0)
  expect(await stack.usage(client)).toMatchObject({ input_tokens: 30_000, output_tokens: 15_000 })
  const { proof } = await verifyLedger(stack.pool, '2020-01-01')
  expect(proof.totals).toBe(proof.counted)
})

test('a job that its provider no longer has is waited for no more', async () => {
  const id = await submit('/v1/batches')
  await stack.usageOf(client, 1)
  upstream.objects.delete(id)
  expect(await openFetcher().run()).toEqual({ fetched: 1, counted: 0 })
  expect((await countUnsettledJobs(stack.pool)).jobs).toBe(0)
})

test('a batch that ends and is deleted elsewhere between two look-ups is lost, and waited for no more', async () => {
  const id = await submit('/v1/batches')
  await stack.usageOf(client, 1)
  const fetcher = openFetcher()
  expect(await fetcher.run()).toEqual({ fetched: 1, counted: 0 })
  upstream.endJobs()
  upstream.objects.delete(id)
  await makeDue()
  expect(await fetcher.run()).toEqual({ fetched: 1, counted: 0 })
  const { rows } = await stack.pool.query(
    'select lost_at is not null as lost from tallygate.objects where id = $1',
    [id],
  )
  expect(rows).toEqual([{ lost: true }])
  expect((await countUnsettledJobs(stack.pool)).jobs).toBe(0)
})

test('an upstream that is away leaves its jobs for later', async () => {
  await submit('/v1/batches')
  await stack.usageOf(client, 1)
  await upstream.close()
  expect(await openFetcher().run()).toEqual({ fetched: 1, counted: 0 })
  expect((await countUnsettledJobs(stack.pool)).jobs).toBe(1)
})

test('a worker that knows an upstream fetches, unless FETCH_JOBS says no; where it says yes it must know one', () => {
  const known = { UPSTREAM_URL: upstream.url }
  expect(loadJobFetchConfig(known)?.upstreams).toMatchObject([{ origin: upstream.url }])
  expect(loadJobFetchConfig({ ...known, FETCH_JOBS: 'false' })).toBeNull()
  expect(loadJobFetchConfig({})).toBeNull()
  expect(loadJobFetchConfig({ UPSTREAM_URL: 'not a URL' })).toBeNull()
  expect(() => loadJobFetchConfig({ FETCH_JOBS: 'true' })).toThrow('UPSTREAM_URL or TALLYGATE_CONFIG')
  expect(() => loadJobFetchConfig({ FETCH_JOBS: 'yes' })).toThrow('must be true or false')
})

test('what a worker fetches is priced by the newer data that everyone has', () => {
  const config = loadJobFetchConfig({ FETCH_JOBS: 'true', UPSTREAM_URL: 'https://api.openai.com' })
  const data = [
    { id: 'openai', models: [{ id: 'gpt-99', match: { equals: 'gpt-99' }, prices: { input_mtok: 7 } }] },
  ]
  const text = JSON.stringify(data)
  const knows = (catalog: Catalog | undefined) =>
    catalog?.knowsModel('openai', 'default', 'gpt-99', Date.now())
  expect(
    knows(
      config?.catalogOn({
        ...NOTHING_KEPT,
        'genai-prices': { entries: catalogOfText('newer', text), text: () => text },
      }),
    ),
  ).toBe(true)
  expect(knows(config?.catalogOn(NOTHING_KEPT))).toBe(false)
})
