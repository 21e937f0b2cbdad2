import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openPool, type Upstream } from '../../../src/gateway/routing/upstream-table.ts'
import { type ModelListing, watchUpstreamModels } from '../../../src/gateway/upstream-models.ts'
import { startStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

const log = { info: vi.fn(), warn: vi.fn() }
let server: TestUpstream
let upstream: Upstream
let listing: ModelListing | null
/** The waits between fetches in ms, each of which the test ends. */
let waits: number[]
let endWait: () => void

beforeEach(async () => {
  vi.clearAllMocks()
  server = await startUpstream()
  waits = []
  listing = null
  upstream = {
    name: 'only',
    origin: server.url,
    host: new URL(server.url).host,
    basePath: '',
    provider: 'openai',
    credential: null,
    fetched: null,
    takesClients: false,
    models: ['exact', 'pattern-*'],
    modelsPath: '/list',
    pathPrefix: null,
    includeUsage: 'auto',
    objects: 'owned',
    account: ['only'],
    mountedAt: '',
    ownsOrigins: false,
    publicUrl: null,
    pool: openPool(server.url, { headersTimeoutMs: 5_000, idleTimeoutMs: 5_000 }),
  }
})

afterEach(async () => {
  listing?.stop()
  await upstream.pool.destroy()
  await server.close()
})

function watch(): ModelListing {
  listing = watchUpstreamModels([upstream], log, (ms, then) => {
    endWait = then
    waits.push(ms)
    return () => {}
  })
  return listing
}

/** Answers fetches with these statuses, one after the other, and ends each wait but the last. */
async function fetches(...statuses: readonly number[]): Promise<readonly number[]> {
  for (const [index, status] of statuses.entries()) {
    const before = waits.length
    server.answer((_request, response) => json(response, status, { data: [{ id: 'listed' }] }))
    if (index > 0 || before > 0) endWait()
    else watch()
    await expect.poll(() => waits.length).toBe(before + 1)
  }
  return waits
}

test.each([
  404, 405, 501,
])('%s means that there is no list: nothing is logged, and it is asked again as seldom as one that is there', async (status) => {
  expect(await fetches(status, status, status)).toEqual([300_000, 300_000, 300_000])
  expect([log.warn.mock.calls, log.info.mock.calls]).toEqual([[], []])
  expect(listing?.list()).toEqual([{ id: 'exact', object: 'model', owned_by: 'openai' }])
})

test.each([
  401, 403, 429, 500,
])('%s: waits get twice as long each time, up to five minutes', async (status) => {
  const failures = Array.from({ length: 8 }, () => status)
  expect(await fetches(...failures)).toEqual([
    5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000,
  ])
})

test('a log line says when lists stop coming and when they come again, and none in between', async () => {
  await fetches(200, 500, 401, 500)
  expect(log.warn).toHaveBeenCalledTimes(1)
  expect(log.warn.mock.calls[0]?.[0]).toMatchObject({
    event: 'upstream.models_not_fetched',
    upstream: 'only',
    reason: 'the upstream answered 500',
  })
  expect(listing?.has('listed')).toBe(true)
  await fetches(200, 200)
  expect(log.info.mock.calls.map(([fields]) => fields.event)).toEqual(['upstream.models_fetched'])
  await fetches(500)
  expect(waits.at(-1)).toBe(5_000)
  expect(log.warn).toHaveBeenCalledTimes(2)
})

test('models: false asks for no list, models_path for another one, with its query', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-lists-'))
  const file = join(folder, 'tallygate.yaml')
  server.answer((_request, response) => json(response, 200, { data: [{ id: 'listed' }] }))
  await writeFile(
    file,
    `upstreams:
  - { name: silent, url: '${server.url}/silent', provider: openai, models: false }
  - { name: other, url: '${server.url}/other', provider: openai, path_prefix: /other, models_path: '/v2/list?all=1' }
`,
  )
  const stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
  const { key } = await stack.addClient('asking')
  const answer = await fetch(`${stack.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  expect(Object(await answer.json()).data).toEqual([{ id: 'listed', object: 'model', owned_by: 'openai' }])
  expect(server.requests.map(({ url }) => url)).toEqual(['/other/v2/list?all=1'])
  await stack.stop()
  await rm(folder, { recursive: true })
})
