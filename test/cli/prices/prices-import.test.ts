import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { findCurrentSource } from '../../../src/pricing/refresh/price-catalogs.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'
import { json, run } from '../command-line.ts'

let ledger: LedgerDatabase
let folder: string
let list: string
let env: Environment

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-prices-import-'))
  list = join(folder, 'litellm.json')
})
afterAll(async () => {
  await ledger.drop()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  env = { DATABASE_URL: ledger.url, TALLYGATE_DATA_DIR: join(folder, 'data') }
  await emptyTables(ledger.pool, ['price_catalogs', 'current_price_catalogs'])
})

/** LiteLLM's form. */
const litellm = (more: object = {}) =>
  JSON.stringify({
    'gpt-98': {
      litellm_provider: 'openai',
      mode: 'chat',
      input_cost_per_token: 2e-6,
      output_cost_per_token: 8e-6,
      ...more,
    },
  })

const inForce = () => findCurrentSource(ledger.pool, 'litellm')
const SHOW = ['prices', 'show', 'gpt-98', '--provider', 'openai']

test('an imported list is asked last by everyone, and taken back', async () => {
  await writeFile(list, litellm())
  expect(await json(env, 'prices', 'import', list, '--dry-run')).toMatchObject({ models: 1, stored: false })
  expect(await inForce()).toBeNull()
  expect((await run(env, ...SHOW)).code).toBe(1)

  const { out } = await run(env, 'prices', 'import', list)
  expect(out).toMatch(/^litellm@[0-9-]{10}\.[0-9a-f]{12}: 1 models at hosts known here/)
  const { prices } = (await json(env, ...SHOW)) as { prices: object[] }
  expect(prices[0]).toMatchObject({ source: await inForce(), rates: { input: '2', output: '8' } })
  expect(await json(env, 'prices', 'import', list)).toMatchObject({ stored: false })

  await run(env, 'prices', 'import', '--remove')
  expect((await run(env, ...SHOW)).code).toBe(1)
  expect((await run(env, 'prices', 'import')).err).toContain('must be given, or say --remove')
})

test('a list that is cut, hostile or no list changes nothing, in one line', async () => {
  const imported = async (text: string) => {
    await writeFile(list, text)
    const { code, err } = await run(env, 'prices', 'import', list)
    expect(code).toBe(2)
    expect(err.trim().split('\n')).toHaveLength(1)
    return err
  }
  await writeFile(list, litellm())
  await run(env, 'prices', 'import', list)
  const before = await inForce()
  expect(before).not.toBeNull()
  expect(await imported(litellm().slice(0, -5))).toContain('is not a price list of LiteLLM: is not JSON')
  expect(await imported(litellm({ input_cost_per_token: -1 }))).toContain('input_cost_per_token is negative')
  expect(await imported(litellm({ input_cost_per_token: 1 }))).toContain('which nothing costs')
  const handle = await open(list, 'w')
  await handle.truncate(64 * 1024 * 1024 + 1)
  await handle.close()
  expect((await run(env, 'prices', 'import', list)).err).toContain('more than 67108864')
  expect(await inForce()).toBe(before)
})
