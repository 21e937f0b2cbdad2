import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundledText } from '#prices/bundled-lists.ts'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { recordPrices } from '../../../src/gateway/health/recorded-state.ts'
import { createLog } from '../../../src/lib/log.ts'
import { buildPriceConfiguration, nameConfiguration } from '../../../src/pricing/price-configuration.ts'
import {
  findCatalogText,
  recordGatewayPrices,
  selectGatewayPrices,
} from '../../../src/pricing/refresh/gateway-prices.ts'
import type { RepricingSettings } from '../../../src/pricing/repricing/repricing-scope.ts'
import { bundledCatalog, mergedText } from '../../../src/pricing/sources/catalog-sources.ts'
import { createTestDatabase, openTestPool } from '../../support/servers/database.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { json, run } from '../command-line.ts'

const SECRET = 'sk-of-the-upstream'
const TODAY = new Date().toISOString().slice(0, 10)
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let folder: string

const writeConfig = (factor: string) =>
  writeFile(
    join(folder, 'config.yaml'),
    `upstreams: [{ name: only, url: '${upstream.url}', provider: openai, api_key_env: SECRET }]
prices: [{ model: our-model, upstream: only, input: '2', output: '4' }]
markups: [{ client: c1, factor: '${factor}' }]
`,
  )

beforeAll(async () => {
  upstream = await startUpstream()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-prices-'))
  await writeConfig('1.5')
  stack = await startStack('', {
    env: {
      UPSTREAM_URL: '',
      UPSTREAM_PROVIDER: '',
      SECRET,
      TALLYGATE_CONFIG: join(folder, 'config.yaml'),
    },
  })
  client = await stack.addClient('c1')
})
afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

const recorded = async () => (await selectGatewayPrices(stack.pool)).map(({ configuration }) => configuration)
const repricing = ['prices', 'reprice', '--model', 'gpt-4o-mini', '--since', TODAY, '--reason', 'fix']
const elsewhere = () => ({ DATABASE_URL: stack.env.DATABASE_URL, TALLYGATE_DATA_DIR: join(folder, 'none') })
const corrections = async () =>
  (await stack.pool.query('select count(*)::int as n from tallygate.adjustments')).rows[0]?.n

const ask = () =>
  fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [] }),
  }).then((answer) => answer.text())
const adjusted = async () =>
  (await stack.pool.query('select coalesce(sum(adjusted_pico), 0)::text as pico from tallygate.daily_usage'))
    .rows[0]?.pico
const configurationOf = (settings: RepricingSettings) =>
  buildPriceConfiguration(bundledCatalog().source, settings)
const CONFIG_OF_GATEWAY = () => configurationOf(loadGatewayConfig(stack.env).priceSettings)
const NOTHING: RepricingSettings = { prices: [], markups: [], upstreams: [] }

test('a repricing in a shell without the configuration is refused; as a gateway that is named, it keeps the markup', async () => {
  await ask()
  await ask()
  const { cost_usd: cost } = await stack.usageOf(client, 2)
  await expect.poll(recorded).toHaveLength(1)
  const [gateway] = await selectGatewayPrices(stack.pool)
  const name = gateway?.gateway ?? ''

  const refused = await run(elsewhere(), ...repricing)
  expect(refused.code).toBe(1)
  expect(refused.err).toContain(`prices by ${nameConfiguration(CONFIG_OF_GATEWAY())}`)
  expect(refused.err).toContain(`this command by ${nameConfiguration(configurationOf(NOTHING))}`)
  expect(refused.err).toContain(`nothing is changed`)
  expect(refused.err).toContain(`--gateway ${name}`)
  expect(await corrections()).toBe(0)
  expect((await stack.pool.query('select 1 from tallygate.repricing_rules')).rowCount).toBe(0)
  // What writes nothing may look by the gateways' prices.
  expect(await run(elsewhere(), ...repricing, '--dry-run')).toMatchObject({ code: 0 })

  const { code, out } = await run(elsewhere(), ...repricing, '--gateway', name)
  expect(code).toBe(0)
  expect(out).toContain('Every cost is as the prices of now say')
  expect(out).toMatch(/^Priced by gateway \S+: [0-9a-f]{16} \(.*1 markup\)\.$/m)
  expect(out).toContain(nameConfiguration(CONFIG_OF_GATEWAY()))
  expect((await stack.usage(client)).cost_usd).toBe(cost)

  for (let count = 0; count < 3; count++) await ask()
  const after = await stack.usageOf(client, 5)
  expect(after.cost_usd).toBeCloseTo((cost / 2) * 5, 12)
  expect(await adjusted()).toBe('0')
  await run(elsewhere(), 'prices', 'end-rule', '1')
})

test('a repricing by other prices than the gateways have is refused, both are named, and nothing is written', async () => {
  const before = await corrections()
  const other = { ...elsewhere(), TALLYGATE_CONFIG: join(folder, 'other.yaml') }
  await writeFile(join(folder, 'other.yaml'), '')
  const { code, err } = await run(other, ...repricing)
  expect(code).toBe(1)
  expect(err).toContain(`prices by ${nameConfiguration(CONFIG_OF_GATEWAY())}`)
  expect(err).toContain(`this command by ${nameConfiguration(configurationOf(NOTHING))}`)
  expect(err).toContain('nothing is changed')
  expect(await corrections()).toBe(before)
  expect(await adjusted()).toBe('0')
  // So is a query by it.
  for (const command of [['show', 'gpt-4o-mini'], ['check']]) {
    const asked = await run(other, 'prices', ...command)
    expect(asked.code).toBe(1)
    expect(asked.err).toContain(`this command by ${nameConfiguration(configurationOf(NOTHING))}`)
  }
  // The same as the gateways have is no other.
  expect(await run(stack.env, ...repricing, '--dry-run')).toMatchObject({ code: 0 })
})

test('a repricing uses the command’s own prices where that is asked for, or those of a named gateway', async () => {
  const other = { ...elsewhere(), TALLYGATE_CONFIG: join(folder, 'other.yaml') }
  const dryRun = async (...options: string[]) =>
    (await json(other, ...repricing, '--dry-run', ...options)) as {
      before_usd: string
      after_usd: string
      priced_by: object
    }
  const own = await dryRun('--config-differs-on-purpose')
  expect(own.priced_by).toMatchObject({ gateways: null, markups: 0 })
  expect(Number(own.after_usd) * 1.5).toBeCloseTo(Number(own.before_usd), 12)
  const [gateway] = await selectGatewayPrices(stack.pool)
  const theirs = await dryRun('--gateway', gateway?.gateway ?? '')
  expect(theirs.priced_by).toMatchObject({ gateways: [gateway?.gateway], markups: 1 })
  expect(theirs.after_usd).toBe(theirs.before_usd)
  expect((await run(other, ...repricing, '--gateway', 'nobody')).err).toContain(
    `there are ${gateway?.gateway}`,
  )
})

test('what a model costs is shown as the gateways price it, whichever shell asks', async () => {
  const shown = await json(elsewhere(), 'prices', 'show', 'our-model', '--client', 'c1')
  expect(shown).toMatchObject({
    prices: [{ upstream: 'only', provider: 'openai', line: null, factor: '1.5', rates: { input: '3' } }],
    priced_by: { catalog: bundledCatalog().source, prices: 1, markups: 1 },
  })
  const { out } = await run(elsewhere(), 'prices', 'show', 'our-model')
  expect(out).toContain('entry 1 of prices')
})

test('what a gateway records holds no address and no credential', async () => {
  const { rows } = await stack.pool.query(
    `select g.*, c.configuration from tallygate.gateway_prices g
     join tallygate.price_configurations c using (hash)`,
  )
  const text = JSON.stringify(rows)
  expect(text).toContain('"only"')
  expect(text).not.toContain('http')
  expect(text).not.toContain(SECRET)
})

test('where no gateway ever ran, prices are those of the command', async () => {
  const database = await createTestDatabase()
  const env = { ...stack.env, DATABASE_URL: database.url }
  const shown = await json(env, 'prices', 'show', 'our-model')
  await database.drop()
  expect(shown).toMatchObject({ prices: [{ upstream: 'only', line: 2 }], priced_by: { gateways: null } })
})

test('a gateway tells what it prices by again when its configuration changes', async () => {
  const [before] = await recorded()
  await writeConfig('1.7')
  stack.gateway.reload(loadGatewayConfig(stack.env))
  await expect.poll(async () => (await recorded())[0]?.hash).not.toBe(before?.hash)
  expect((await recorded())[0]?.settings.markups).toEqual([{ line: 1, client: 'c1', factor: '1.7' }])
})

const anotherGateway = async (catalog = 'genai-prices@0.0.1', catalogText = bundledText) => {
  const configuration = buildPriceConfiguration(catalog, NOTHING)
  await recordGatewayPrices(stack.pool, 'elsewhere:1', { configuration, upstreams: [], catalogText })
  return configuration
}
const removeAnotherGateway = () =>
  stack.pool.query("delete from tallygate.gateway_prices where gateway = 'elsewhere:1'")

test('gateways that do not price alike are named by doctor; one that stopped long ago is not asked', async () => {
  const other = await anotherGateway()
  const { out } = await run(stack.env, 'doctor')
  expect(out).toContain('gateways do not price alike')
  expect(out).toContain(`elsewhere:1 by ${nameConfiguration(other)}`)
  await stack.pool.query(
    "update tallygate.gateway_prices set at = now() - interval '1 hour' where gateway = 'elsewhere:1'",
  )
  expect((await run(stack.env, 'doctor')).out).toContain('every gateway prices by')
})

test('doctor says so where its own configuration is another than the gateways have', async () => {
  const other = { ...stack.env, TALLYGATE_CONFIG: join(folder, 'other.yaml') }
  expect((await run(other, 'doctor')).out).toContain(
    `this command has ${nameConfiguration(configurationOf(NOTHING))}`,
  )
  expect((await run(elsewhere(), 'doctor')).out).toContain('every gateway prices by')
})

test('gateways that do not price alike are named, and nothing is priced until the command says which is right', async () => {
  const other = await anotherGateway()
  for (const env of [elsewhere(), stack.env]) {
    for (const command of [repricing, ['prices', 'show', 'gpt-4o-mini']]) {
      const { code, err } = await run(env, ...command)
      expect(code).toBe(1)
      expect(err).toContain('the gateways do not price alike')
      expect(err).toContain(`gateway elsewhere:1 prices by ${nameConfiguration(other)}`)
      expect(err).toContain(nameConfiguration(CONFIG_OF_GATEWAY()))
    }
  }
  const shown = await json(
    elsewhere(),
    'prices',
    'show',
    'gpt-4o-mini',
    '--provider',
    'openai',
    '--gateway',
    'elsewhere:1',
  )
  expect(shown).toMatchObject({ priced_by: { gateways: ['elsewhere:1'], catalog: 'genai-prices@0.0.1' } })
  await removeAnotherGateway()
})

test('a catalog that only gateways have is read from Postgres; one that was not kept is refused', async () => {
  const cheap = JSON.stringify(
    JSON.parse(bundledText()).map((provider: { id: string; models: object[] }) =>
      provider.id === 'openai'
        ? {
            ...provider,
            models: [
              { id: 'gpt-99', match: { equals: 'gpt-99' }, prices: { input_mtok: 7 } },
              ...provider.models,
            ],
          }
        : provider,
    ),
  )
  await anotherGateway('refreshed@2026-11-22', () => cheap)
  const show = ['prices', 'show', 'gpt-99', '--provider', 'openai', '--gateway', 'elsewhere:1']
  expect(await json(elsewhere(), ...show)).toMatchObject({
    prices: [{ source: 'refreshed@2026-11-22', rates: { input: '7' } }, {}],
  })
  await stack.pool.query("delete from tallygate.catalogs where source = 'refreshed@2026-11-22'")
  const { code, err } = await run(elsewhere(), ...show)
  expect(code).toBe(1)
  expect(err).toContain('the catalog refreshed@2026-11-22, which is neither here nor in Postgres')
  await removeAnotherGateway()
})

test('the catalog of the first gateway on a database is kept there whole', async () => {
  const database = await createTestDatabase()
  const pool = openTestPool(database.url, { max: 1 })
  try {
    await pool.query('delete from tallygate.catalogs')
    const first = await startStack(upstream.url, { databaseUrl: database.url, workers: false })
    const isKept = async () => (await findCatalogText(pool, bundledCatalog().source)) === mergedText()
    await expect.poll(isKept).toBe(true)
    await first.stop()
  } finally {
    await pool.end()
    await database.drop()
  }
})

test('catalogs that no gateway prices by any more are dropped after a while, and no other', async () => {
  const kept = async () =>
    (await stack.pool.query('select source from tallygate.catalogs order by source')).rows.map(
      ({ source }) => source,
    )
  await anotherGateway('day-1', () => '[]')
  await anotherGateway('day-2', () => '[]')
  await stack.pool.query("update tallygate.catalogs set added_at = now() - interval '31 days'")
  await anotherGateway('day-3', () => '[]')
  // The one of yesterday is that of a gateway until this one has said that it has another.
  expect(await kept()).toEqual([bundledCatalog().source, 'day-2', 'day-3'])
  await removeAnotherGateway()
})

test('two configurations that price alike have one name, however they are written and whatever upstreams they list', () => {
  const written = (upstreams: string[], ...fields: [string, string][]) =>
    buildPriceConfiguration('x', {
      prices: [{ line: 1, ...Object.fromEntries(fields) }],
      markups: [],
      upstreams,
    }).hash
  const one = written(['a'], ['model', 'm'], ['input', '1'])
  expect(written(['a', 'b'], ['input', '1'], ['model', 'm'])).toBe(one)
  expect(written(['a'], ['input', '2'], ['model', 'm'])).not.toBe(one)
})

test('a gateway that stopped is not asked for its prices while another runs, and is the last one otherwise', async () => {
  const database = await createTestDatabase()
  const log = createLog('silent', 'test')
  const pool = openTestPool(database.url)
  try {
    const prices = (factor: string) => () => ({
      configuration: configurationOf({ ...NOTHING, markups: [{ line: 1, client: 'c1', factor }] }),
      upstreams: [],
      catalogText: () => bundledText(),
    })
    const running = async () => (await selectGatewayPrices(pool)).map(({ gateway }) => gateway)
    const first = recordPrices(pool, 'host:1', prices('2'), log)
    const second = recordPrices(pool, 'host:2', prices('3'), log)
    await expect.poll(running).toEqual(['host:1', 'host:2'])
    await first.stop()
    expect(await running()).toEqual(['host:2'])
    await second.stop()
    expect(await running()).toEqual(['host:2'])
  } finally {
    await pool.end()
    await database.drop()
  }
})
