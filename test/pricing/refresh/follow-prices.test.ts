import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { bundledText } from '#prices/bundled-lists.ts'
import type { Logger } from '../../../src/lib/logger.ts'
import { followPrices, loadStoredPrices } from '../../../src/pricing/refresh/follow-prices.ts'
import { keptFileOf } from '../../../src/pricing/refresh/kept-file.ts'
import type { StoredPrices } from '../../../src/pricing/refresh/stored-prices.ts'
import { judgePrices, putJudged } from '../../../src/pricing/refresh/take-prices.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { TEST_TIMEOUT_MS } from '../../support/patience.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'
import { changedBundle } from './changed-bundle.ts'

const NOW = Date.parse('2026-11-22T12:00:00Z')
const DAY_MS = 86_400_000

let database: TestDatabase
let pool: Postgres
/** Where no server listens. */
let away: Postgres
let dataDir: string
let lines: { level: string; event: unknown; message: string }[] = []
const say = (level: string) => (context: object, message: string) =>
  void lines.push({ level, event: 'event' in context ? context.event : null, message })
const log: Logger = { info: say('info'), warn: say('warn'), error: say('error') }
const following: { stop(): Promise<void> }[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  const options = { max: 2, statementTimeoutMs: TEST_TIMEOUT_MS, applicationName: 'test', log }
  pool = openPostgres(database.url, options)
  away = openPostgres('postgres://nobody@127.0.0.1:1/nowhere', options)
})
afterAll(async () => {
  await Promise.all([pool.end(), away.end()])
  await database.drop()
})
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tallygate-test-kept-'))
  lines = []
  await emptyTables(pool, ['price_catalogs', 'current_price_catalogs'])
})
afterEach(async () => {
  await Promise.all(following.splice(0).map((one) => one.stop()))
  await rm(dataDir, { recursive: true, force: true })
})

/** @returns Its source. */
async function put(dollars: number, nowMs = NOW): Promise<string> {
  const text = changedBundle('gpt-4o', { input_mtok: dollars, output_mtok: 10 })
  const judged = await judgePrices(pool, { kind: 'genai-prices', text, origin: 'test' }, nowMs)
  expect(await putJudged(pool, judged)).toBe(true)
  return judged.catalog?.source ?? ''
}

const sourceOf = (prices: StoredPrices) => prices['genai-prices']?.source ?? null

function follow(first: StoredPrices): StoredPrices[] {
  const taken: StoredPrices[] = []
  following.push(followPrices({ pool, dataDir, log, everyMs: 10 }, first, (prices) => taken.push(prices)))
  return taken
}

test('prices are those of Postgres, and kept on disk for a start without it', async () => {
  expect(sourceOf(await loadStoredPrices({ pool, dataDir, log }))).toBeNull()
  const source = await put(3)
  const prices = await loadStoredPrices({ pool, dataDir, log })
  expect(sourceOf(prices)).toBe(source)
  expect(prices['genai-prices']?.entries.source).toBe(source)
  expect(await readdir(dataDir)).toEqual(['prices-genai-prices.json'])
  expect(lines).toEqual([])

  const kept = await loadStoredPrices({ pool: away, dataDir, log })
  expect(sourceOf(kept)).toBe(source)
  expect(kept['genai-prices']?.text()).toBe(prices['genai-prices']?.text())
  expect(lines.map(({ level, event }) => [level, event])).toEqual([['warn', 'prices.not_taken']])
})

test('what was kept and is no more what was written is passed over, with one line that says so', async () => {
  await put(3)
  await loadStoredPrices({ pool, dataDir, log })
  const file = keptFileOf(dataDir, 'genai-prices')
  const written = JSON.stringify({ source: 's', fetchedAt: new Date(NOW), sha256: 'x', text: bundledText() })
  for (const broken of ['', '{', written, written.slice(0, 1_000)]) {
    await writeFile(file, broken)
    lines = []
    expect(sourceOf(await loadStoredPrices({ pool: away, dataDir, log }))).toBeNull()
    expect(lines.filter(({ level }) => level === 'error')).toMatchObject([{ event: 'prices.not_taken' }])
  }
})

test('what was kept before this release was published is not used', async () => {
  await put(3, Date.parse('2026-09-22T12:00:00Z'))
  await loadStoredPrices({ pool, dataDir, log })
  // Prices from Postgres are as this release has stored them.
  expect(lines).toMatchObject([{ level: 'info', event: 'prices.taken' }])
  expect(sourceOf(await loadStoredPrices({ pool, dataDir, log }))).not.toBeNull()
  const file = keptFileOf(dataDir, 'genai-prices')
  const { createHash } = await import('node:crypto')
  const text = bundledText()
  const sha256 = createHash('sha256').update(text).digest('hex')
  await writeFile(
    file,
    JSON.stringify({ source: 'genai-prices@old', fetchedAt: '2026-09-22T00:00:00.000Z', sha256, text }),
  )
  expect(sourceOf(await loadStoredPrices({ pool: away, dataDir, log }))).toBeNull()
})

test('newer prices are taken while running, each once', async () => {
  const first = await loadStoredPrices({ pool, dataDir, log })
  const taken = follow(first)
  const one = await put(3)
  await expect.poll(() => taken.map(sourceOf)).toEqual([one])
  const two = await put(4, NOW + DAY_MS)
  await expect.poll(() => taken.map(sourceOf)).toEqual([one, two])
  expect(lines.map(({ event }) => event)).toEqual(['prices.in_use', 'prices.in_use'])
  expect(sourceOf(await loadStoredPrices({ pool: away, dataDir, log }))).toBe(two)
})

test('a gateway of a newer release that started without Postgres brings its prices when it is back', async () => {
  const old = await put(3, Date.parse('2026-09-22T12:00:00Z'))
  const first = await loadStoredPrices({ pool: away, dataDir, log })
  expect(sourceOf(first)).toBeNull()
  const taken = follow(first)
  await expect.poll(() => taken.length).toBe(1)
  expect(taken.map(sourceOf)).not.toContain(old)
})

test('prices that could not be taken are taken the next time', async () => {
  const taken: StoredPrices[] = []
  let attempts = 0
  const take = (prices: StoredPrices) => {
    attempts += 1
    if (attempts === 1) throw new Error('not now')
    taken.push(prices)
  }
  const first = await loadStoredPrices({ pool, dataDir, log })
  following.push(followPrices({ pool, dataDir, log, everyMs: 10 }, first, take))
  const source = await put(3)
  await expect.poll(() => taken.map(sourceOf)).toEqual([source])
})

test('prices that cannot be read leave those in use, and are reported once', async () => {
  const one = await put(3)
  const taken = follow(await loadStoredPrices({ pool, dataDir, log }))
  await pool.query(
    `with broken as (
       insert into tallygate.price_catalogs
         (source, kind, sha256, fetched_sha256, origin, fetched_at, in_force_from, data, bytes)
       select 'genai-prices@broken', kind, sha256, 'x', origin, now(), in_force_from, 'x'::bytea, 1
       from tallygate.price_catalogs)
     update tallygate.current_price_catalogs set source = 'genai-prices@broken'`,
  )
  await expect.poll(() => lines.map(({ event }) => event), { interval: 5 }).toEqual(['prices.not_taken'])
  // It goes on looking, says it no more, and takes what can be read again.
  await pool.query('update tallygate.current_price_catalogs set source = $1', [one])
  const two = await put(4, NOW + DAY_MS)
  await expect.poll(() => taken.map(sourceOf)).toEqual([two])
  expect(lines.map(({ event }) => event)).toEqual(['prices.not_taken', 'prices.in_use'])
})

test('a folder that cannot be written does not stop a refresh', async () => {
  const source = await put(3)
  const file = join(dataDir, 'file')
  await writeFile(file, '')
  expect(sourceOf(await loadStoredPrices({ pool, dataDir: join(file, 'below'), log }))).toBe(source)
  expect(lines).toMatchObject([{ level: 'warn' }])
})
