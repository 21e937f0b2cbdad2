import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { BUNDLED_SOURCE, bundledText } from '#prices/bundled-lists.ts'
import type { Environment } from '../../../src/config/config.ts'
import { addDays, utcDayOf } from '../../../src/domain/utc-day.ts'
import { inForceFrom } from '../../../src/pricing/history/catalog-refresh.ts'
import { findCurrentPriceCatalog } from '../../../src/pricing/refresh/price-catalogs.ts'
import { type PriceServer, startPriceServer } from '../../pricing/refresh/price-server.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'
import { json, run } from '../command-line.ts'

let ledger: LedgerDatabase
let server: PriceServer
let folder: string
let env: Environment

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  server = await startPriceServer()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-prices-update-'))
})
afterAll(async () => {
  await server.stop()
  await ledger.drop()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  const config = join(folder, 'config.yaml')
  await writeFile(config, "upstreams:\n  - { name: openai, url: 'https://api.openai.com' }\n")
  env = {
    DATABASE_URL: ledger.url,
    PRICES_URL: server.url,
    TALLYGATE_CONFIG: config,
    TALLYGATE_DATA_DIR: join(folder, 'data'),
  }
  await emptyTables(ledger.pool, ['price_catalogs', 'current_price_catalogs', 'price_doubts'])
})

interface Model {
  readonly id: string
  readonly match: object
  readonly prices: readonly { readonly prices: object }[]
}

/** The package's data with openai's models changed, as a newer data.json might have it. */
function newerCatalog(change: (models: Map<string, Model>) => void): string {
  const providers = JSON.parse(bundledText()) as { id: string; models: Model[] }[]
  const openai = providers.find(({ id }) => id === 'openai')
  const models = new Map((openai?.models ?? []).map((model) => [model.id, model]))
  change(models)
  if (openai !== undefined) openai.models = [...models.values()]
  return JSON.stringify(providers)
}

const NEWER = newerCatalog((models) => {
  models.delete('gpt-3.5-turbo')
  const model = models.get('gpt-4o')
  if (model !== undefined)
    models.set('gpt-4o', { ...model, prices: [{ prices: { ...model.prices[0]?.prices, input_mtok: 2 } }] })
  models.set('gpt-99', { id: 'gpt-99', match: { equals: 'gpt-99' }, prices: [{ prices: { input_mtok: 7 } }] })
})
const CHANGES = [
  { provider: 'openai', model: 'gpt-3.5-turbo', what: 'model', before: 'known', after: null },
  { provider: 'openai', model: 'gpt-4o', what: 'input_mtok', before: '2.5', after: '2' },
  { provider: 'openai', model: 'gpt-99', what: 'model', before: null, after: 'new' },
]

async function written(text: string): Promise<string> {
  const file = join(folder, 'data.json')
  await writeFile(file, text)
  return file
}

const azureMeter = (meterName: string, retailPrice: number) => ({
  currencyCode: 'USD',
  retailPrice,
  armRegionName: 'eastus2',
  effectiveStartDate: '2026-03-01T00:00:00Z',
  meterName,
  productName: 'Azure OpenAI GPT5',
  unitOfMeasure: '1M',
  type: 'Consumption',
})
const AZURE_PAGE = JSON.stringify({
  Items: [azureMeter('5.4 inp Gl 1M Tokens', 2.4), azureMeter('5.4 opt Gl 1M Tokens', 14)],
  NextPageLink: null,
})

const inForce = () => findCurrentPriceCatalog(ledger.pool, 'genai-prices')
/** The rate of input at openai, in the standard tier. */
async function inputOf(model: string, day: string): Promise<unknown> {
  const { prices } = (await json(env, 'prices', 'show', model, '--provider', 'openai', '--day', day)) as {
    prices: { rates: { input: string }; service_tier: string | null }[]
  }
  return prices.find(({ service_tier: tier }) => tier === null)?.rates.input
}

test('diff shows what newer prices would change, old beside new, and changes nothing', async () => {
  const from = inForceFrom(Date.now())
  const file = await written(NEWER)
  expect(await json(env, 'prices', 'diff', file)).toMatchObject({
    from: BUNDLED_SOURCE,
    to: expect.stringMatching(/^genai-prices@[0-9-]{10}\.[0-9a-f]{12}$/),
    in_force_from: from,
    changes: CHANGES,
    doubts: [],
    stored: false,
  })
  const { out } = await run(env, 'prices', 'diff', file)
  expect(out).toMatch(/^openai +gpt-4o +input_mtok +2\.5 +2$/m)
  expect(out).toMatch(/^openai +gpt-3\.5-turbo +model +known +no longer listed: keeps its price$/m)
  expect(out).toContain(
    `1 new models, 1 changed rates (from ${from} on, or the day that the source says), 1 models no longer listed.`,
  )
  expect(await inForce()).toBeNull()
})

test('update puts them in force for all gateways, from the next day on', async () => {
  const today = utcDayOf(Date.now())
  const from = inForceFrom(Date.now())
  const { out } = await run(env, 'prices', 'update', await written(NEWER))
  expect(out).toContain('Gateways take it within a minute.')
  expect((await inForce())?.origin).toBe(join(folder, 'data.json'))
  expect([await inputOf('gpt-4o', today), await inputOf('gpt-4o', from)]).toEqual(['2.5', '2'])
  expect(await inputOf('gpt-99', today)).toBe('7')
  expect(await inputOf('gpt-3.5-turbo', addDays(from, 400))).toBe('0.5')
  expect(await json(env, 'prices', 'update', join(folder, 'data.json'))).toMatchObject({
    stored: false,
    changes: [],
  })
})

test('without a path the URL is asked', async () => {
  server.answerText(NEWER)
  expect(await json(env, 'prices', 'diff')).toMatchObject({ changes: CHANGES, stored: false })
  expect(await json(env, 'prices', 'update')).toMatchObject({ changes: CHANGES, stored: true })
  expect((await inForce())?.origin).toBe(server.url)
  server.answer((_, response) => response.writeHead(302, { location: 'https://example.com' }).end())
  const { code, err } = await run(env, 'prices', 'update')
  expect([code, err]).toEqual([
    1,
    expect.stringContaining('302 to https://example.com, which is not followed'),
  ])
})

test('without a path every source is asked, each is judged by itself, and one that is away holds up none', async () => {
  const litellm = await startPriceServer()
  const azure = await startPriceServer()
  const modelsDev = await startPriceServer()
  const all = {
    ...env,
    PRICES_MODELS_DEV_URL: modelsDev.url,
    PRICES_LITELLM_URL: litellm.url,
    PRICES_AZURE_URL: azure.url,
  }
  try {
    server.answerText(NEWER)
    litellm.answer((_, response) => response.writeHead(500).end())
    azure.answerText(AZURE_PAGE)
    modelsDev.answerText('{"openai":{"models":{}}}')
    const { code, out, err } = await run(all, 'prices', 'update', '--json')
    const document = JSON.parse(out) as { sources: object[] }
    expect(document).toMatchObject({ source: 'genai-prices', stored: true })
    expect(document.sources).toMatchObject([
      { source: 'genai-prices', stored: true, held: [] },
      { source: 'models.dev', problem: expect.stringContaining('it lists 0 of the') },
      { source: 'litellm', problem: expect.stringContaining('answered with 500') },
      { source: 'azure', stored: true, changes: [{ provider: 'azure', model: 'gpt-5.4', after: 'new' }] },
    ])
    // A program reads it in the document.
    expect([code, err]).toEqual([1, ''])
  } finally {
    await Promise.all([litellm.stop(), azure.stop(), modelsDev.stop()])
  }
})

test('the folder of a package is as good as its data', async () => {
  // What is installed for tests has fewer models than what the release bundles.
  const { err } = await run(env, 'prices', 'update', 'node_modules/@pydantic/genai-prices')
  expect(err).toMatch(/nothing is changed: .* is doubtful: it lists [0-9]+ of the/)
  expect((await run(env, 'prices', 'update', 'node_modules/zod')).err).toContain('is not the package')
})

test('what is not a catalog is refused, whichever check finds it', async () => {
  const wrong = await written(
    JSON.stringify([
      {
        id: 'openai',
        models: ['m', 'n'].map((id) => ({ id, match: {}, prices: { x: -1 } })),
      },
    ]),
  )
  for (const args of [
    ['update', wrong],
    ['update', wrong, '--force'],
    ['diff', wrong],
  ]) {
    const { code, err } = await run(env, 'prices', ...args)
    expect(code).toBe(1)
    expect(err).toContain('nothing is changed')
    expect(err).toContain('openai/m: match is not match logic')
  }
  expect((await run(env, 'prices', 'update', join(folder, 'nowhere.json'))).err).toContain('ENOENT')
  expect(await inForce()).toBeNull()
})

test('what is doubtful needs a person who has looked at it', async () => {
  const doubtful = await written(
    newerCatalog((models) => {
      const model = models.get('gpt-4o')
      if (model !== undefined)
        models.set('gpt-4o', { ...model, prices: [{ prices: { input_mtok: 250, output_mtok: 10 } }] })
      const sound = models.get('o3')
      if (sound !== undefined)
        models.set('o3', { ...sound, prices: [{ prices: { input_mtok: 4, output_mtok: 8 } }] })
    }),
  )
  const { out } = await run(env, 'prices', 'diff', doubtful)
  expect(out).toMatch(/keep their old price[\s\S]*openai\/gpt-4o: input_mtok from \$2\.5 to \$250/)
  expect(await json(env, 'prices', 'doubts')).toEqual([])
  expect(await json(env, 'prices', 'update', doubtful)).toMatchObject({
    stored: true,
    held: [{ provider: 'openai', model: 'gpt-4o', why: 'input_mtok from $2.5 to $250' }],
  })
  const from = inForceFrom(Date.now())
  expect([await inputOf('gpt-4o', from), await inputOf('o3', from)]).toEqual(['2.5', '4'])
  const [waiting] = (await json(env, 'prices', 'doubts')) as unknown[]
  expect(waiting).toMatchObject({
    source: 'genai-prices',
    provider: 'openai',
    model: 'gpt-4o',
    origin: doubtful,
  })
  expect((await run(env, 'prices', 'accept', 'openai/gpt-0')).err).toContain('openai/gpt-0 does not wait')
  expect(await json(env, 'prices', 'accept', 'openai/gpt-4o')).toMatchObject({ in_force_from: from })
  expect([await inputOf('gpt-4o', utcDayOf(Date.now())), await inputOf('gpt-4o', from)]).toEqual([
    '2.5',
    '250',
  ])
  expect(await json(env, 'prices', 'doubts')).toEqual([])
  // What was accepted is in force, so that it is not new.
  expect(await json(env, 'prices', 'update', doubtful)).toMatchObject({ stored: false, held: [] })
})
