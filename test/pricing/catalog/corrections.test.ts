import { expect, test } from 'vitest'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import type { CatalogEntries } from '../../../src/pricing/catalog/catalog-entries.ts'
import { findListed } from '../../../src/pricing/catalog/catalog-find.ts'
import {
  CATALOG_PROVIDER_IDS,
  catalogPlaces,
  OTHER_PROVIDER_IDS,
  PRICED_PROVIDERS,
} from '../../../src/pricing/catalog/catalog-providers.ts'
import { findMediaPrice } from '../../../src/pricing/catalog/catalog-resolve.ts'
import { ADDED_RATES } from '../../../src/pricing/corrections/added-rates.ts'
import { MISNAMED } from '../../../src/pricing/corrections/misnamed.ts'
import type { ModelCorrection } from '../../../src/pricing/corrections/model-correction.ts'
import { MODEL_CORRECTIONS } from '../../../src/pricing/corrections/models.ts'
import { TIER_PRICES } from '../../../src/pricing/corrections/service-tiers.ts'
import { SETTLED_CONTRADICTIONS } from '../../../src/pricing/corrections/settled.ts'
import { bundledEntries } from '../../../src/pricing/sources/catalog-bundle.ts'
import {
  allContradictions,
  contradictionsOf,
  staleCorrections,
} from '../../../src/pricing/sources/catalog-contradictions.ts'
import { correctionProviders } from '../../../src/pricing/sources/catalog-corrections.ts'
import { parseCatalog } from '../../../src/pricing/sources/catalog-parse.ts'
import { bundledCatalog } from '../../../src/pricing/sources/catalog-sources.ts'

const NOW = Date.parse('2026-11-22T12:00:00Z')

test('every fact of ours names the page it is from and the day it was looked at', () => {
  for (const fact of [
    ...MODEL_CORRECTIONS,
    ...ADDED_RATES,
    ...TIER_PRICES,
    ...MISNAMED,
    ...SETTLED_CONTRADICTIONS,
  ]) {
    expect(fact.source).toMatch(/^https:\/\/[a-z0-9.-]+\//)
    expect(fact.seen).toMatch(/^202[0-9]-[0-9]{2}-[0-9]{2}$/)
  }
})

test('a name is corrected once, at a provider that upstreams can have', () => {
  const names = MODEL_CORRECTIONS.flatMap(({ providerId, id, names: all = [id] }) =>
    all.map((name) => `${providerId}/${name.toLowerCase()}`),
  )
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  for (const { providerId } of MODEL_CORRECTIONS) {
    expect([...CATALOG_PROVIDER_IDS, ...OTHER_PROVIDER_IDS]).toContain(providerId)
  }
})

test('what our list of media prices has, which is asked first, no correction has again', () => {
  const again = PRICED_PROVIDERS.flatMap((provider) =>
    MODEL_CORRECTIONS.filter(
      ({ providerId, id }) =>
        catalogPlaces(provider, id).some((place) => place.providerId === providerId) &&
        findMediaPrice(provider, id, null, '2026-11-22') !== null,
    ),
  )
  expect(again.map(({ id }) => id)).toEqual([])
})

test('what a correction says it replaces is what the first source says', () => {
  for (const { providerId, id, replaces } of MODEL_CORRECTIONS) {
    const listed = findListed(bundledEntries(), { providerId, name: id }).find(
      ({ rank, fit }) => rank === 0 && fit === 'exact',
    )
    if (replaces === null) {
      expect(listed?.model.prices.some(({ byKey }) => byKey.size > 0) ?? false, id).toBe(false)
      continue
    }
    const said = (listed?.model.prices ?? []).map(({ byKey }) =>
      Object.keys(replaces).map((key) => {
        const rate = byKey.get(key)
        return rate === undefined ? null : Number(rate.base.digits) / 10 ** rate.base.scale
      }),
    )
    expect(said, id).toContainEqual(Object.values(replaces))
  }
})

// https://docs.x.ai/developers/migration/may-15-retirement: the names answer still, and are billed as what serves them.
test.each([
  ['grok-4', '2026-05-15', 3],
  ['grok-4-fast', '2025-11-25', 0.2],
  ['grok-3', '2026-05-15', 3],
  ['grok-4', '2026-05-16', 1.25],
  ['grok-4-latest', '2026-11-25', 1.25],
  ['grok-3', '2026-11-25', 1.25],
  ['grok-4-fast', '2026-11-25', 1.25],
  ['grok-4-fast-non-reasoning', '2026-11-25', 1.25],
  ['grok-4-1-fast-reasoning-latest', '2026-11-25', 1.25],
  ['grok-code-fast-1', '2026-11-25', 1],
])('%s, a model that xAI retired, costs what its heir does: on %s $%d a million', (model, day, usd) => {
  const atMs = Date.parse(`${day}T12:00:00Z`)
  const query = { provider: 'xai', upstream: 'xai', clientName: null, model, serviceTier: null, atMs }
  const [short, long] = buildCatalog().findPrices(query)?.prices.tiers ?? []
  expect(Number(short?.usual.definition.rates.input) / 1e6).toBe(usd)
  const isFlat = model === 'grok-3' && day < '2026-05-16'
  expect(long === undefined ? null : Number(long.usual.definition.rates.input) / 1e6).toBe(
    isFlat ? null : 2 * usd,
  )
  if (!isFlat) expect(long?.above).toBe(day < '2026-05-16' ? 128_000 : 199_999)
})

test.each([
  ['gemini-4-argon', '2026-11-30', [1, 2, 3.6]],
  ['gemini-4-argon', '2026-12-01', [2, 4, 7.2]],
  ['gemini-4-carbon', '2026-11-30', [1, 2, 3.6]],
  ['gemini-4-carbon', '2026-12-01', [2, 4, 7.2]],
  ['gemini-4-hydrogen', '2026-12-01', [0.75, 1.5, 2.7]],
  ['gemini-4-neon', '2026-12-01', [1.5, 3, 5.4]],
])('%s on %s: flex, usual and priority, the first price of a model ends in its day', (model, day, usd) => {
  const atMs = Date.parse(`${day}T12:00:00Z`)
  const catalog = buildCatalog()
  const prices = ['flex', null, 'priority'].map((serviceTier) => {
    const query = { provider: 'gemini', upstream: 'gemini', clientName: null, model, serviceTier, atMs }
    return Number(catalog.findPrices(query)?.prices.tiers[0]?.usual.definition.rates.input) / 1e6
  })
  expect(prices).toEqual(usd)
})

test('no bundled source has caught up with a correction, which is to be taken out then', () => {
  expect(staleCorrections(bundledCatalog(), NOW).map(({ id }) => id)).toEqual([])
})

function merged(corrections: readonly ModelCorrection[], first: object[], later: object[]): CatalogEntries {
  const layers = (
    [
      ['corrections@1', correctionProviders(corrections)],
      ['a@1', first],
      ['b@1', later],
    ] as const
  ).flatMap(([source, providers]) => {
    if (providers.length === 0) return []
    const { entries, problems } = parseCatalog(providers, source)
    if (entries === null) throw new Error(problems.join())
    return entries
  })
  return { source: 'all', providers: layers.at(-2)?.providers ?? new Map(), layers }
}

const list = (models: Record<string, object>) => [
  {
    id: 'openai',
    models: Object.entries(models).map(([id, prices]) => ({ id, match: { equals: id }, prices })),
  },
]

const CORRECTION: ModelCorrection = {
  providerId: 'openai',
  id: 'one',
  prices: { input_mtok: 2, output_mtok: 8 },
  replaces: { input_mtok: 1 },
  why: 'it is',
  source: 'https://example.com/',
  seen: '2026-11-22',
}

test('a correction is stale when the sources say the same without it', () => {
  const isStale = (prices: object) =>
    staleCorrections(merged([CORRECTION], list({ one: prices }), list({ two: { input_mtok: 1 } })), NOW, [
      CORRECTION,
    ]).length === 1
  expect(isStale({ input_mtok: 2, output_mtok: 8 })).toBe(true)
  expect(isStale({ input_mtok: 1, output_mtok: 8 })).toBe(false)
  expect(isStale({ input_mtok: 2 })).toBe(false)
})

test('sources that contradict the one taken are reported by class, with what each says and why ours is taken', () => {
  const entries = merged(
    [],
    list({ one: { input_mtok: 2, output_mtok: 8 }, two: { input_mtok: 1 } }),
    list({ one: { input_mtok: 3, output_mtok: 8 }, two: { input_mtok: 1 } }),
  )
  const contradiction = {
    provider: 'openai',
    model: 'one',
    rate: 'input',
    taken: { source: 'a@1', price: '2' },
    others: [{ source: 'b@1', price: '3' }],
    why: 'a comes first',
  }
  expect(contradictionsOf(entries, { providerId: 'openai', name: 'one' }, NOW)).toEqual([contradiction])
  expect(allContradictions(entries, NOW)).toEqual([contradiction])
  expect(contradictionsOf(entries, { providerId: 'openai', name: 'two' }, NOW)).toEqual([])
})

test('the reason of a choice that was looked into is said with its page', () => {
  const place = { providerId: 'cloudflare', name: '@cf/zai-org/glm-4.7-flash' }
  expect(contradictionsOf(bundledCatalog(), place, NOW)[0]).toMatchObject({
    taken: { source: expect.stringMatching(/^corrections@/), price: '0.0605' },
    others: [{ source: expect.stringMatching(/^genai-prices@/), price: '0.06' }],
    why: expect.stringMatching(
      /^corrected: the source has a rounded figure.* \(https:\/\/developers\.cloudflare/,
    ),
  })
})
