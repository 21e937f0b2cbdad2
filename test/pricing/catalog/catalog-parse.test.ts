import { expect, test } from 'vitest'
import { bundledText } from '#prices/bundled-lists.ts'
import { NO_UNITS, NO_USAGE } from '../../../src/call/usage.ts'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import { readCatalogFile } from '../../../src/pricing/sources/catalog-file.ts'
import { parseCatalog } from '../../../src/pricing/sources/catalog-parse.ts'

function providerOf(model: Record<string, unknown>) {
  return { id: 'openai', name: 'OpenAI', api_pattern: '.*', models: [model] }
}

const MODEL = { id: 'gpt-9', match: { equals: 'gpt-9' }, prices: { input_mtok: 0.0375 } }

test('prices of a newer data file are those of its own version', () => {
  const { entries } = parseCatalog([providerOf(MODEL)], 'genai-prices@file')
  if (entries === null) throw new Error('refused')
  const answer = buildCatalog({ entries }).priceCall({
    provider: 'openai',
    upstream: 'up',
    clientName: null,
    model: 'gpt-9',
    requestedModel: null,
    usage: { ...NO_USAGE, inputTokens: 2 },
    units: NO_UNITS,
    serviceTier: null,
    arrivedAtMs: 0,
    reportedCostPico: null,
    parts: null,
  })
  expect(answer).toMatchObject({ costPico: 75_000n, price: { definition: { source: 'genai-prices@file' } } })
})

test('a file with bundled data is read whole, and named by its content', () => {
  const lists: { id: string; models: { id: string }[] }[] = JSON.parse(bundledText())
  const provider = lists.find(({ id }) => id === 'deepseek')
  const text = JSON.stringify([provider])
  const { entries, problems } = readCatalogFile(text)
  expect(problems).toEqual([])
  expect(entries?.providers.get('deepseek')?.models.map(({ id }) => id)).toEqual(
    provider?.models.map(({ id }) => id),
  )
  expect(entries?.source).toMatch(/^genai-prices-file@[0-9a-f]{12}$/)
  expect(readCatalogFile(text).entries?.source).toBe(entries?.source)
  expect(readCatalogFile(`${text} `).entries?.source).not.toBe(entries?.source)
})

test('a file that is not JSON is refused with the reason', () => {
  expect(readCatalogFile('[{').problems).toEqual([expect.stringMatching(/^catalog: is not JSON: /)])
})

test('constraints are read with or without their type, in any offset', () => {
  const dated = (constraint: Record<string, string>) => {
    const prices = [{ prices: { input_mtok: 1 } }, { constraint, prices: { input_mtok: 2 } }]
    const { entries } = parseCatalog([providerOf({ ...MODEL, prices })], 'x')
    return entries?.providers.get('openai')?.models[0]?.prices[1]?.constraint ?? null
  }
  expect(dated({ start_date: '2026-01-01' })).toEqual({ kind: 'from', day: '2026-01-01' })
  expect(dated({ type: 'start_date', start_date: '2026-01-01' })).toEqual({ kind: 'from', day: '2026-01-01' })
  const hours = { kind: 'hours', startMs: 1_800_000, endMs: 59_400_000 }
  expect(dated({ start_time: '00:30:00Z', end_time: '16:30:00Z' })).toEqual(hours)
  expect(dated({ start_time: '08:30:00+08:00', end_time: '00:30:00+08:00' })).toEqual(hours)
  expect(dated({ type: 'time_of_date', start_time: '22:30:00-02:00', end_time: '16:30:00Z' })).toEqual(hours)
})

test('all that is wrong with a file is reported at once, with its place, and none of it is used', () => {
  const models = [
    { match: { equals: 'a' }, prices: {} },
    { id: 'b', match: { sounds_like: 'b' }, prices: { input_mtok: -1, output_mtok: '2' } },
    {
      id: 'c',
      match: { regex: '(' },
      prices: { input_mtok: { base: 1, tiers: [{ start: 0.5, price: 1 }] } },
    },
    { id: 'd', match: { or: [{ equals: 'd' }, {}] }, prices: [] },
    { id: 'e', match: { equals: 'e' } },
    { id: 'f', match: { equals: 'f' }, prices: [{ constraint: { service_tier: 'flex' }, prices: {} }] },
    { id: 'g', match: { equals: 'g' }, prices: [{ constraint: { start_date: '2026-02-30' }, prices: {} }] },
  ]
  const providers = [{ id: 'p', models }, { id: 'p', models: [] }, { name: 'q' }, null]
  const { entries, problems } = parseCatalog(providers, 'x')
  expect(entries).toBeNull()
  expect(problems).toEqual([
    'p, model 1: has no id',
    'p, model 2 (b): match is not match logic',
    'p, model 2 (b): input_mtok is not a price',
    'p, model 2 (b): output_mtok is not a price',
    'p, model 3 (c): match is not match logic',
    'p, model 3 (c): input_mtok is not a price',
    'p, model 4 (d): match is not match logic',
    'p, model 4 (d): has an empty list of prices',
    'p, model 5 (e): has no prices',
    'p, model 6 (f): no such constraint: {"service_tier":"flex"}',
    'p, model 7 (g): no such constraint: {"start_date":"2026-02-30"}',
    'provider p: is there twice',
    'provider 3: has no id or no models',
    'provider 4: has no id or no models',
  ])
  for (const value of [null, {}, [], 'x']) expect(parseCatalog(value, 'x').entries).toBeNull()
})
