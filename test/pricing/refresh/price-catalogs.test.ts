import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  findCurrentPriceCatalog,
  findCurrentSource,
  findPriceCatalog,
  MAX_CATALOG_BYTES,
  type PriceCatalog,
  putPriceCatalog,
  wasFetchedBefore,
} from '../../../src/pricing/refresh/price-catalogs.ts'
import { priceCatalogSource, sha256Of } from '../../../src/pricing/sources/price-catalog-source.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { quiet } from '../../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'

let database: TestDatabase
let pool: Postgres

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPostgres(database.url, {
    max: 4,
    statementTimeoutMs: 10_000,
    applicationName: 'test price catalogs',
    log: quiet,
  })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})
beforeEach(async () => {
  await emptyTables(pool, ['price_catalogs', 'current_price_catalogs', 'prices', 'price_configurations'])
})

/** As fetched so many days after the first of March. */
function aCatalog(day: number, text = `[${day}]`): PriceCatalog {
  const fetchedAt = new Date(Date.UTC(2026, 2, 1 + day, 12))
  const fetchedOn = fetchedAt.toISOString().slice(0, 10)
  return {
    source: priceCatalogSource('genai-prices', fetchedOn, text),
    kind: 'genai-prices',
    fetchedSha256: sha256Of(text),
    origin: 'https://prices.example.com/data.json',
    dataDay: fetchedOn,
    fetchedAt,
    inForceFrom: '2026-05-01',
    text,
  }
}

async function putDays(from: number, to: number): Promise<void> {
  for (let day = from; day <= to; day += 1) {
    expect(await putPriceCatalog(pool, aCatalog(day), await findCurrentSource(pool, 'genai-prices'))).toBe(
      true,
    )
  }
}

test('a catalog that was put is the one in force, as it was put', async () => {
  expect(await findCurrentPriceCatalog(pool, 'genai-prices')).toBeNull()
  const catalog = aCatalog(0, '[{"id":"größer"}]')
  expect(await putPriceCatalog(pool, catalog, null)).toBe(true)
  expect(await findCurrentPriceCatalog(pool, 'genai-prices')).toEqual(catalog)
  expect(await findPriceCatalog(pool, catalog.source)).toEqual(catalog)
  expect(await findCurrentPriceCatalog(pool, 'litellm')).toBeNull()
})

test('only the first of several catalogs that are put at once on the same one is taken', async () => {
  await putDays(0, 0)
  const before = aCatalog(0).source
  const put = await Promise.all([1, 2, 3].map((day) => putPriceCatalog(pool, aCatalog(day), before)))
  expect(put.filter(Boolean)).toHaveLength(1)
  const { rows } = await pool.query('select source from tallygate.price_catalogs')
  expect(rows).toHaveLength(2)
  expect(await findCurrentSource(pool, 'genai-prices')).toBe(aCatalog(put.indexOf(true) + 1).source)
})

test('only one of several catalogs that are put at once on none is taken', async () => {
  const put = await Promise.all([1, 2, 3].map((day) => putPriceCatalog(pool, aCatalog(day), null)))
  expect(put.filter(Boolean)).toHaveLength(1)
})

test('kinds do not take the place of each other', async () => {
  await putDays(0, 0)
  const other = { ...aCatalog(1), kind: 'litellm' as const, source: 'litellm@2026-03-02.abc' }
  expect(await putPriceCatalog(pool, other, null)).toBe(true)
  expect(await findCurrentSource(pool, 'genai-prices')).toBe(aCatalog(0).source)
  expect(await findCurrentSource(pool, 'litellm')).toBe('litellm@2026-03-02.abc')
})

test('old texts are dropped but for those that prices and gateways name, and stay known', async () => {
  await putDays(0, 2)
  const [byPrice, byGateway, byNone] = [0, 1, 2].map((day) => aCatalog(day).source)
  await pool.query(`insert into tallygate.prices (price_id, definition) values ('p', $1)`, [
    JSON.stringify({ source: byPrice }),
  ])
  await pool.query(`insert into tallygate.price_configurations (hash, configuration) values ('h', $1)`, [
    JSON.stringify({ catalog: `${byGateway}+models.dev@1.5.2` }),
  ])
  await pool.query(`insert into tallygate.gateway_prices (gateway, hash) values ('g', 'h')`)
  await putDays(3, 13)
  expect(await findPriceCatalog(pool, byPrice ?? '')).toEqual(aCatalog(0))
  expect(await findPriceCatalog(pool, byGateway ?? '')).toEqual(aCatalog(1))
  expect(await findPriceCatalog(pool, byNone ?? '')).toBeNull()
  expect(await findPriceCatalog(pool, aCatalog(4).source)).toEqual(aCatalog(4))
  expect(await wasFetchedBefore(pool, 'genai-prices', aCatalog(2).fetchedSha256)).toBe(true)
  expect(await wasFetchedBefore(pool, 'genai-prices', aCatalog(99).fetchedSha256)).toBe(false)
})

test('one whose text was dropped can be put again', async () => {
  await putDays(0, 12)
  expect(await findPriceCatalog(pool, aCatalog(0).source)).toBeNull()
  expect(await putPriceCatalog(pool, aCatalog(0), aCatalog(12).source)).toBe(true)
  expect(await findCurrentPriceCatalog(pool, 'genai-prices')).toEqual(aCatalog(0))
})

test('a text that is not what was put is never handed out', async () => {
  await putDays(0, 0)
  await pool.query(`update tallygate.price_catalogs set sha256 = 'other'`)
  await expect(findCurrentPriceCatalog(pool, 'genai-prices')).rejects.toThrow('is not what was put')
})

test('a text that is too long is not put', async () => {
  const text = ' '.repeat(MAX_CATALOG_BYTES + 1)
  await expect(putPriceCatalog(pool, aCatalog(0, text), null)).rejects.toThrow('more than may be kept')
  expect(await findCurrentSource(pool, 'genai-prices')).toBeNull()
})
