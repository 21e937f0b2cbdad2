import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAzureCatalog } from '#prices/azure/azure-catalog.ts'
import { NO_UNITS, NO_USAGE, type TokenUsage } from '../../src/call/usage.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import { fetchPricePages } from '../../src/pricing/refresh/price-pages.ts'
import { catalogOfText } from '../../src/pricing/sources/catalog-file.ts'
import { mergeSources } from '../../src/pricing/sources/catalog-sources.ts'
import { type PriceServer, startPriceServer } from './refresh/price-server.ts'

// Rows as https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices has them, written by hand.

interface Row {
  readonly meterName: string
  readonly retailPrice: number
  readonly unitOfMeasure?: string
  readonly armRegionName?: string
  readonly effectiveStartDate?: string
  readonly productName?: string
  readonly currencyCode?: string
  readonly type?: string
}

function row(meterName: string, retailPrice: number, changes: Partial<Row> = {}): object {
  return {
    currencyCode: 'USD',
    tierMinimumUnits: 0,
    retailPrice,
    unitPrice: retailPrice,
    armRegionName: 'eastus2',
    location: 'US East 2',
    effectiveStartDate: '2026-03-01T00:00:00Z',
    meterId: '00000000-0000-0000-0000-000000000000',
    meterName,
    productName: 'Azure OpenAI GPT5',
    skuName: meterName.replace(/ (?:1M )?Tokens$/, ''),
    serviceName: 'Foundry Models',
    serviceFamily: 'AI + Machine Learning',
    unitOfMeasure: meterName.includes('1M') ? '1M' : '1K',
    type: 'Consumption',
    isPrimaryMeterRegion: true,
    ...changes,
  }
}

const EU = { armRegionName: 'swedencentral' }
const OLDER = { productName: 'Azure OpenAI' }

const ITEMS = [
  row('5.4 inp Gl 1M Tokens', 2.4),
  row('5.4 inp Gl 1M Tokens', 2.4, EU),
  row('5.4 cd inp Gl 1M Tokens', 0.24),
  row('5.4 opt Gl 1M Tokens', 14),
  row('5.4 longco inp Gl 1M Tokens', 4.8),
  row('5.4 longco cd inp Gl 1M Tokens', 0.48),
  row('5.4 longco opt Gl 1M Tokens', 21),
  row('5.4 Batch inp Gl 1M Tokens', 1.25),
  row('5.4 Batch cd inp Gl 1M Tokens', 0.13),
  row('5.4 Batch opt Gl 1M Tokens', 7.5),
  row('5.4 longco batch inp Gl 1M Tokens', 2.5),
  row('5.4 longco batch cd inp Gl 1M Tokens', 0.26),
  row('5.4 longco batch opt Gl 1M Tokens', 11.25),
  row('5.4 mini Inp Gl 1M Tokens', 0.75),
  row('5.4 mini cd Inp Gl 1M Tokens', 0.075),
  row('5.4 mini Opt Gl 1M Tokens', 4.5),
  row('5.4 mini pp Inp Gl 1M Tokens', 1.6),
  row('5.4 mini pp Opt Gl 1M Tokens', 9.1),
  row('5.4 mini Inp Dz 1M Tokens', 0.83),
  row('5.4 mini cd Inp Dz 1M Tokens', 0.083),
  row('5.4 mini Opt Dz 1M Tokens', 5),
  row('5.4 mini Inp Dz 1M Tokens', 0.93, EU),
  row('5.4 mini cd Inp Dz 1M Tokens', 0.093, EU),
  row('5.4 mini Opt Dz 1M Tokens', 6, EU),
  row('5.4 mini pp Inp Dz 1M Tokens', 1.7),
  row('5.4 mini pp cd Inp Dz 1M Tokens', 0.17),
  row('5.4 mini pp Opt Dz 1M Tokens', 9.2),
  row('gpt 4o 1120 Inp glbl Tokens', 0.0026, OLDER),
  row('gpt 4o 1120 cached Inp glbl Tokens', 0.0013, OLDER),
  row('gpt 4o 1120 Outp glbl Tokens', 0.011, OLDER),
  row('gpt 4o 1120 Inp regnl Tokens', 0.003, OLDER),
  row('gpt 4o 1120 cached Inp regnl Tokens', 0.0015, OLDER),
  row('gpt 4o 1120 Outp regnl Tokens', 0.012, OLDER),
  // Cheaper since August: both prices, each from its day.
  row('5.6 terra ShortCo Inp Std Gl 1M Tokens', 2.5),
  row('5.6 terra ShortCo Opt Std Gl 1M Tokens', 15),
  row('5.6 terra ShortCo Inp Std Gl 1M Tokens', 2, { effectiveStartDate: '2026-09-15T00:00:00Z' }),
  row('5.6 terra ShortCo Opt Std Gl 1M Tokens', 12, { effectiveStartDate: '2026-09-15T00:00:00Z' }),
  // Two prices since one day.
  row('o3 0416 Inp glbl Tokens', 0.002, OLDER),
  row('o3 0416 input global Tokens', 0.003, OLDER),
  row('o3 0416 Outp glbl Tokens', 0.008, OLDER),
  // Not taken: other forms, other currencies, unknown names, half a price.
  row('gpt-4o-mini-ft Inp glbl Tokens', 0.001, OLDER),
  row('gpt img 1.5 out img gl 1M Tokens', 35, { productName: 'Azure OpenAI Media' }),
  row('5.1 inp Gl 1M Tokens', 1.1, { currencyCode: 'EUR' }),
  row('5.1 inp Gl 1M Tokens', 1.2, { type: 'DevTestConsumption' }),
  row('5.4 nano Inp Gl 1M Tokens', 0.3),
  row('99.9 inp Gl 1M Tokens', 1),
]
const KNOWN = [
  'gpt-5.4',
  'gpt-5.4-mini',
  'gpt-5.4-nano',
  'gpt-4o-2024-11-20',
  'gpt-5.6-terra',
  'o3-2025-04-16',
  'gpt-5.1',
]

const reading = readAzureCatalog(JSON.stringify({ Items: ITEMS }), KNOWN)
const text = reading.text ?? ''
const catalog = buildCatalog({
  entries: mergeSources({
    azure: { entries: catalogOfText('azure@2026-11-01.0123456789ab', text), text: () => text },
  }),
})

const IN = { inputTokens: 1_000 }
const OUT = { outputTokens: 1_000 }

/** US dollars for a million tokens, and where the price is from. */
function priced(
  model: string,
  usage: Partial<TokenUsage>,
  tier: string | null = null,
  day = '2026-11-24',
  of = catalog,
) {
  const answer = of.priceCall({
    provider: 'azure-openai',
    upstream: 'azure',
    clientName: null,
    model,
    requestedModel: model,
    usage: { ...NO_USAGE, ...usage },
    units: NO_UNITS,
    serviceTier: tier,
    arrivedAtMs: Date.parse(`${day}T12:00:00Z`),
    reportedCostPico: null,
    parts: null,
  })
  if (answer.kind === 'unpriced') return answer.reason
  const count = Math.max(usage.inputTokens ?? 0, usage.outputTokens ?? 0)
  return Number(answer.costPico) / count / 1e6
}

test.each<[string, number, string, Partial<TokenUsage>, string | null]>([
  ['the list price', 2.4, 'gpt-5.4', IN, null],
  ['cached tokens', 0.24, 'gpt-5.4', { inputTokens: 1_000, cacheReadTokens: 1_000 }, null],
  ['a long prompt', 4.8, 'gpt-5.4', { inputTokens: 300_000 }, null],
  ['a batch', 7.5, 'gpt-5.4', OUT, 'batch'],
  ['a revision, a thousand tokens', 2.6, 'gpt-4o-2024-11-20', IN, null],
  ['priority', 1.6, 'gpt-5.4-mini', IN, 'priority'],
  ['the American zone', 0.83, 'gpt-5.4-mini', IN, 'data-zone-us'],
  ['the European zone', 6, 'gpt-5.4-mini', OUT, 'data-zone-eu'],
  ['priority in a zone', 1.7, 'gpt-5.4-mini', IN, 'data-zone-us+priority'],
  ['a region', 12, 'gpt-4o-2024-11-20', OUT, 'regional'],
])('%s is as Azure publishes it: $%d a million', (_, usd, model, usage, tier) => {
  expect(priced(model, usage, tier)).toBe(usd)
})

test('a price holds from the day that Azure says, and no other maker moves it', () => {
  expect(priced('gpt-5.6-terra', IN, null, '2026-09-14')).toBe(2.5)
  expect(priced('gpt-5.6-terra', OUT, null, '2026-09-15')).toBe(12)
  const past = catalog.ofPast()
  expect(priced('gpt-5.6-terra', IN, null, '2026-09-14', past)).toBe(2.5)
  expect(priced('gpt-4o-2024-11-20', IN, null, '2026-02-28', past)).toBe('unknown_day')
})

test('what is not sure is left to the other lists', () => {
  const models = (JSON.parse(text) as { models: { id: string }[] }[])[0]?.models.map(({ id }) => id)
  expect(models).toEqual(['gpt-4o-2024-11-20', 'gpt-5.4', 'gpt-5.4-mini', 'gpt-5.6-terra'])
  expect(reading.unknown).toEqual(['999', 'gpt4ominift'])
  expect(readAzureCatalog('[]', KNOWN).problems).toEqual(['is not a page of the retail price list'])
  expect(readAzureCatalog('{"Items":[]}', KNOWN).text).toBeNull()
})

test('a name of a megabyte is no meter, and is not looked at', () => {
  const spaces = row(`5.4 inp Gl${' '.repeat(1_000_000)}x`, 1)
  const { text: read } = readAzureCatalog(JSON.stringify({ Items: [...ITEMS, spaces] }), KNOWN)
  expect(read).toBe(text)
})

let server: PriceServer
beforeAll(async () => {
  server = await startPriceServer()
})
afterAll(() => server.stop())

test('all pages are fetched or none, and none from elsewhere', async () => {
  const answer = (next: (url: string) => string | null) =>
    server.answer(({ url = '' }, response) => {
      response.end(JSON.stringify({ Items: [{ page: url }], NextPageLink: next(url) }))
    })
  answer((url) => (url.includes('skip=2') ? null : `${server.url}?skip=${url.includes('skip=1') ? 2 : 1}`))
  const fetched = await fetchPricePages(server.url, null)
  expect(fetched.kind === 'fetched' && JSON.parse(fetched.text).Items).toHaveLength(3)
  answer(() => 'https://elsewhere.example.com/prices')
  expect(await fetchPricePages(server.url, null)).toMatchObject({
    kind: 'refused',
    problem: expect.stringContaining('elsewhere'),
  })
  answer(() => server.url)
  expect(await fetchPricePages(server.url, null)).toMatchObject({
    kind: 'refused',
    problem: expect.stringContaining('more than 100 pages'),
  })
  server.answer(({ url = '' }, response) => {
    if (url.includes('skip')) response.writeHead(500).end()
    else response.end(JSON.stringify({ Items: [], NextPageLink: `${server.url}?skip=1` }))
  })
  expect(await fetchPricePages(server.url, null)).toMatchObject({ kind: 'unreachable' })
})

test('a page of a million rows, or nested without end, is refused and nothing is thrown', async () => {
  server.answerText(`{"Items":[${'0,'.repeat(1_000_000)}0],"NextPageLink":null}`)
  expect(await fetchPricePages(server.url, null)).toMatchObject({ kind: 'refused' })
  server.answerText(`{"Items":[${'['.repeat(100_000)}${']'.repeat(100_000)}]}`)
  expect(await fetchPricePages(server.url, null)).toMatchObject({ kind: 'refused' })
})
