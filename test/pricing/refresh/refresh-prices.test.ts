import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { BUNDLED_SOURCE, bundledText } from '#prices/bundled-lists.ts'
import { findCurrentPriceCatalog, findCurrentSource } from '../../../src/pricing/refresh/price-catalogs.ts'
import { dropPriceDoubts, selectPriceDoubts } from '../../../src/pricing/refresh/price-doubts.ts'
import { findPriceRefresh } from '../../../src/pricing/refresh/price-refreshes.ts'
import { refreshPrices } from '../../../src/pricing/refresh/refresh-prices.ts'
import { putNewerBundle } from '../../../src/pricing/refresh/take-prices.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { quiet } from '../../rollup/records.ts'
import { TEST_TIMEOUT_MS } from '../../support/patience.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'
import { changedBundle } from './changed-bundle.ts'
import { type PriceServer, startPriceServer } from './price-server.ts'

const NOW = Date.parse('2026-11-22T12:00:00Z')
const LIMITS = { totalMs: TEST_TIMEOUT_MS, maxBytes: 4_000_000 }

let database: TestDatabase
let pool: Postgres
let server: PriceServer

beforeAll(async () => {
  database = await createTestDatabase()
  const log = quiet
  pool = openPostgres(database.url, { max: 4, statementTimeoutMs: 10_000, applicationName: 'test', log })
  server = await startPriceServer()
})
afterAll(async () => {
  await server.stop()
  await pool.end()
  await database.drop()
})
beforeEach(async () => {
  await emptyTables(pool, ['price_catalogs', 'current_price_catalogs', 'price_refreshes', 'price_doubts'])
})

const refresh = (nowMs = NOW) =>
  refreshPrices({ pool, kind: 'genai-prices', url: server.url, now: () => nowMs, limits: LIMITS })
const inForce = () => findCurrentSource(pool, 'genai-prices')
/** gpt-4o at so many dollars a million tokens; 2.5 in the package. */
const gpt4oAt = (dollars: number) => changedBundle('gpt-4o', { input_mtok: dollars, output_mtok: 10 })
const DAY_MS = 86_400_000

test('newer prices are in force from the next day on, and the old ones until then', async () => {
  server.answerText(gpt4oAt(3))
  const taken = await refresh()
  expect(taken).toMatchObject({ kind: 'taken', before: BUNDLED_SOURCE, from: '2026-11-23' })
  const catalog = await findCurrentPriceCatalog(pool, 'genai-prices')
  expect(catalog).toMatchObject({ origin: server.url, fetchedAt: new Date(NOW), inForceFrom: '2026-11-23' })
  expect(catalog?.source).toMatch(/^genai-prices@2026-11-22\.[0-9a-f]{12}$/)
  expect(catalog?.text).toContain('"id":"gpt-4o","match"')
  expect(catalog?.text).toContain(
    '{"constraint":{"start_date":"2026-11-23"},"prices":{"input_mtok":3,"output_mtok":10}}',
  )
  expect(await findPriceRefresh(pool, 'genai-prices')).toMatchObject({ outcome: 'taken', problem: null })
})

test('the day is that of Postgres, whatever the clock of the worker says', async () => {
  server.answerText(gpt4oAt(3))
  const { rows } = await pool.query<{ day: string }>(
    "select to_char((now() + interval '1 hour') at time zone 'UTC' + interval '1 day', 'YYYY-MM-DD') as day",
  )
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3 * DAY_MS })
  try {
    expect(
      await refreshPrices({ pool, kind: 'genai-prices', url: server.url, limits: LIMITS }),
    ).toMatchObject({
      from: rows[0]?.day,
    })
  } finally {
    vi.useRealTimers()
  }
})

test('what the package has already, in whatever order, changes nothing', async () => {
  const providers = JSON.parse(bundledText()) as { models: unknown[] }[]
  server.answerText(
    JSON.stringify(providers.map((one) => ({ ...one, models: one.models.toReversed() })).toReversed()),
  )
  expect(await refresh()).toEqual({ kind: 'unchanged', held: [] })
  expect(await inForce()).toBeNull()
})

test('what was taken is asked for only where it has changed', async () => {
  server.answer(({ headers }, response) => {
    response.writeHead(headers['if-none-match'] === '"1"' ? 304 : 200, { etag: '"1"' })
    response.end(gpt4oAt(3))
  })
  expect(await refresh()).toMatchObject({ kind: 'taken' })
  const source = await inForce()
  expect(await refresh(NOW + DAY_MS)).toEqual({ kind: 'unchanged', held: [] })
  expect(server.requests.at(-1)?.headers['if-none-match']).toBe('"1"')
  expect(await inForce()).toBe(source)
  expect(await findPriceRefresh(pool, 'genai-prices')).toMatchObject({ outcome: 'unchanged', etag: '"1"' })
})

/** Whatever comes, what is in force is as it was, and one line says why. */
async function expectRefused(what: string, kind: 'refused' | 'unreachable', problem: RegExp): Promise<void> {
  const before = await findCurrentPriceCatalog(pool, 'genai-prices')
  expect(await refresh(NOW + 2 * DAY_MS), what).toMatchObject({ kind })
  expect(await findCurrentPriceCatalog(pool, 'genai-prices'), what).toEqual(before)
  const said = await findPriceRefresh(pool, 'genai-prices')
  expect(said, what).toMatchObject({ outcome: kind, problem: expect.stringMatching(problem) })
  expect(said?.problem).not.toContain('\n')
}

const HOSTILE: readonly (readonly [string, () => void, 'refused' | 'unreachable', RegExp])[] = [
  ['cut in its text', () => server.answerText(gpt4oAt(3).slice(0, 100_000)), 'refused', /is not JSON/],
  [
    'cut on its way',
    () =>
      server.answer((_, response) => {
        response.writeHead(200, { 'content-length': '500000' }).write('[')
        setImmediate(() => response.destroy())
      }),
    'unreachable',
    /./,
  ],
  ['a page', () => server.answerText('<html>'), 'refused', /is not JSON/],
  ['empty', () => server.answerText('[]'), 'refused', /is not a list of providers/],
  [
    'half of it',
    () => server.answerText(JSON.stringify(JSON.parse(bundledText()).slice(0, 4))),
    'refused',
    /models that are known/,
  ],
  ['what was in force before', () => server.answerText(gpt4oAt(3)), 'refused', /it was in force before/],
  [
    'elsewhere',
    () => server.answer((_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()),
    'refused',
    /302 to http:\/\/127.0.0.1:1\/, which is not followed/,
  ],
  [
    'a bomb',
    () =>
      server.answer((_, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50e6, ' '))),
      ),
    'refused',
    /longer than 4000000 bytes/,
  ],
  [
    'gone',
    () => server.answer((_, response) => response.writeHead(404).end()),
    'refused',
    /answered with 404/,
  ],
  ['broken', () => server.answer((_, response) => response.writeHead(500).end()), 'unreachable', /with 500/],
]

test('a refresh that is not what it should be leaves the prices as they are, and says so in one line', async () => {
  server.answerText(gpt4oAt(3))
  expect(await refresh()).toMatchObject({ kind: 'taken' })
  server.answerText(gpt4oAt(4))
  expect(await refresh(NOW + DAY_MS)).toMatchObject({ kind: 'taken' })
  for (const [what, answer, kind, problem] of HOSTILE) {
    answer()
    await expectRefused(what, kind, problem)
  }
})

const DOUBTED: readonly (readonly [string, number, RegExp])[] = [
  ['negative', -1, /input_mtok is not a price/],
  ['a hundred times dearer', 250, /input_mtok from \$\S+ to \$250/],
  ['absurd', 50_000, /input_mtok is \$50000/],
  ['for nothing', 0, /to \$0/],
]

for (const [what, dollars, why] of DOUBTED) {
  test(`a model that is ${what} keeps its price, all others have their newer ones, and it waits for a person`, async () => {
    server.answer((_, response) =>
      response
        .writeHead(200, { etag: '"1"' })
        .end(changedBundle('o3', { input_mtok: 4, output_mtok: 8 }, gpt4oAt(dollars))),
    )
    const refreshed = await refresh()
    expect(refreshed).toMatchObject({
      kind: 'taken',
      held: [{ provider: 'openai', model: 'gpt-4o', why: expect.stringMatching(why) }],
    })
    const text = (await findCurrentPriceCatalog(pool, 'genai-prices'))?.text ?? ''
    expect(priceIn(text, 'gpt-4o')).toBe(2.5)
    expect(priceIn(text, 'o3')).toBe(4)
    expect(await selectPriceDoubts(pool)).toMatchObject([{ kind: 'genai-prices', model: 'gpt-4o' }])
    // It is asked for again, whatever its tag: what waits may be confirmed, or put right.
    expect(await refresh(NOW + DAY_MS)).toMatchObject({ kind: 'unchanged', held: [{ model: 'gpt-4o' }] })
    expect(server.requests.at(-1)?.headers['if-none-match']).toBeUndefined()
    server.answerText(changedBundle('o3', { input_mtok: 4, output_mtok: 8 }))
    expect(await refresh(NOW + 2 * DAY_MS)).toMatchObject({ held: [] })
    expect(await selectPriceDoubts(pool)).toEqual([])
  })
}

test('a doubt that has changed since it was read is not ended by it, and begins again', async () => {
  server.answerText(gpt4oAt(250))
  await refresh()
  const [read] = await selectPriceDoubts(pool)
  await refresh(NOW + DAY_MS)
  expect(await selectPriceDoubts(pool)).toEqual([read])
  server.answerText(gpt4oAt(300))
  await refresh(NOW + 2 * DAY_MS)
  const [changed] = await selectPriceDoubts(pool)
  if (read === undefined || changed === undefined) throw new Error('nothing waits')
  expect(changed.since.getTime()).toBeGreaterThan(read.since.getTime())
  await dropPriceDoubts(pool, [read])
  expect(await selectPriceDoubts(pool)).toEqual([changed])
  await dropPriceDoubts(pool, [changed])
  expect(await selectPriceDoubts(pool)).toEqual([])
})

function priceIn(text: string, id: string): unknown {
  const lists: { id: string; models: { id: string; prices: { prices: { input_mtok: number } }[] }[] }[] =
    JSON.parse(text)
  const openai = lists.find((list) => list.id === 'openai')
  return openai?.models.find((model) => model.id === id)?.prices.at(-1)?.prices.input_mtok
}

test('after a refusal the next refresh asks again, and takes what is right', async () => {
  server.answer((_, response) => response.writeHead(200, { etag: '"bad"' }).end('<html>'))
  expect(await refresh()).toMatchObject({ kind: 'refused' })
  server.answerText(gpt4oAt(3))
  expect(await refresh()).toMatchObject({ kind: 'taken' })
  expect(server.requests.at(-1)?.headers['if-none-match']).toBeUndefined()
})

test('one of two refreshes at once takes the prices, and both end well', async () => {
  server.answerText(gpt4oAt(3))
  const kinds = (await Promise.all([refresh(), refresh()])).map(({ kind }) => kind)
  expect(kinds).toContain('taken')
  const { rows } = await pool.query('select source from tallygate.price_catalogs')
  expect(rows).toHaveLength(1)
})

test('a release with newer data than what is in force brings it, with the old prices for the past', async () => {
  server.answerText(gpt4oAt(3))
  expect(await refresh()).toMatchObject({ kind: 'taken' })
  await pool.query(`update tallygate.price_catalogs set fetched_at = '2026-09-22'`)
  const put = await putNewerBundle(pool, 'genai-prices', NOW + 2 * DAY_MS)
  expect(put).toMatchObject({ origin: BUNDLED_SOURCE, inForceFrom: '2026-11-25' })
  expect(await inForce()).toBe(put?.source)
  const prices = JSON.parse(put?.text ?? '[]')
    .find(({ id }: { id: string }) => id === 'openai')
    .models.find(({ id }: { id: string }) => id === 'gpt-4o').prices
  expect(prices.map((entry: { prices: { input_mtok: number } }) => entry.prices.input_mtok)).toEqual([
    2.5, 3, 2.5,
  ])
  expect(await putNewerBundle(pool, 'genai-prices', NOW)).toBeNull()
})

test('a release whose data is older than what is in force changes nothing', async () => {
  server.answerText(gpt4oAt(3))
  await refresh()
  expect(await putNewerBundle(pool, 'genai-prices', NOW)).toBeNull()
})

test.each([
  ['near its own', 4, []],
  ['far from it', 500, ['other']],
])('rows that no database takes, and one that cannot be read where another is %s, hold up nothing', async (_, dollars, held) => {
  const providers: { id: string; models: object[] }[] = JSON.parse(
    changedBundle('o3', { input_mtok: 4, output_mtok: 8 }, gpt4oAt(-1)),
  )
  const openai = providers.find(({ id }) => id === 'openai')
  openai?.models.unshift(
    // What gpt-4o costs where its own row cannot be read.
    { id: 'other', match: { regex: '^gpt-4o$' }, prices: { input_mtok: dollars, output_mtok: 2 * dollars } },
    { id: 'nul\u0000', match: { equals: 'nul\u0000' }, prices: { input_mtok: -1 } },
    { id: 'half\ud800', match: { equals: 'half\ud800' }, prices: { input_mtok: 0 } },
  )
  server.answerText(JSON.stringify(providers))
  expect(await refresh()).toMatchObject({ kind: 'taken' })
  const text = (await findCurrentPriceCatalog(pool, 'genai-prices'))?.text ?? ''
  expect([priceIn(text, 'gpt-4o'), priceIn(text, 'o3')]).toEqual([2.5, 4])
  const waiting = (await selectPriceDoubts(pool)).map(({ model }) => model)
  expect(waiting.toSorted()).toEqual(['gpt-4o', 'half\ufffd', 'nul\ufffd', ...held])
  expect(await refresh(NOW + DAY_MS)).toMatchObject({ kind: 'unchanged' })
})
