// @seconds: random histories of prices.
import { expect, test } from 'vitest'
import { bundledText } from '#prices/bundled-lists.ts'
import { type CatalogDocument, catalogDocumentOf, catalogTextOf } from '#prices/catalog-document.ts'
import { decimalText } from '#prices/decimal.ts'
import type { CatalogEntries } from '../../../src/pricing/catalog/catalog-entries.ts'
import { findCatalogModel } from '../../../src/pricing/catalog/catalog-find.ts'
import { pricesAt } from '../../../src/pricing/catalog/catalog-schedule.ts'
import { keepPastPrices } from '../../../src/pricing/history/catalog-past.ts'
import { parseCatalog } from '../../../src/pricing/sources/catalog-parse.ts'
import { rounds } from '../../support/rounds.ts'

/** From when changed prices are in force, in every test. */
const FROM = '2026-11-23'
const BEFORE = '2026-11-22'

type Written = Readonly<Record<string, unknown>>

/** One model of a list; its match is its name unless said. */
function model(id: string, prices: unknown, match: unknown = { equals: id }): Written {
  return { id, match, prices }
}

/** A catalog with one provider. */
function listOf(...models: readonly Written[]): CatalogDocument {
  return catalogDocumentOf([{ id: 'openai', name: 'x', models }])
}

const price = (dollars: number) => ({ input_mtok: dollars })
const since = (day: string, dollars: number) => ({ constraint: { start_date: day }, prices: price(dollars) })
const hourly = (start: string, end: string, dollars: number) => ({
  constraint: { start_time: start, end_time: end },
  prices: price(dollars),
})

function entriesOf(document: CatalogDocument): CatalogEntries {
  const { entries, problems } = parseCatalog(JSON.parse(catalogTextOf(document)), 'test')
  expect(problems).toEqual([])
  if (entries === null) throw new Error('no catalog')
  return entries
}

/** What a million input tokens cost; `null`: unpriced. */
function costAt(document: CatalogDocument, name: string, at: string, provider = 'openai'): string | null {
  const found = findCatalogModel(entriesOf(document), provider, name)
  if (found === null) return null
  const rate = pricesAt(found.model, Date.parse(at.includes('T') ? at : `${at}T12:00:00Z`))?.prices.byKey
  const input = rate?.get('input_mtok')
  return input === undefined ? null : decimalText(input.base)
}

test('a changed price is in force from the day on, and the old one until then', () => {
  const merged = keepPastPrices(listOf(model('a', price(1))), listOf(model('a', price(2))), FROM)
  expect(costAt(merged, 'a', '2020-01-01')).toBe('1')
  expect(costAt(merged, 'a', `${BEFORE}T23:59:59.999Z`)).toBe('1')
  expect(costAt(merged, 'a', `${FROM}T00:00:00Z`)).toBe('2')
})

test('changes add up, each from its day on', () => {
  const first = keepPastPrices(listOf(model('a', price(1))), listOf(model('a', price(2))), FROM)
  const second = keepPastPrices(first, listOf(model('a', price(3))), '2026-12-01')
  const third = keepPastPrices(second, listOf(model('a', price(1))), '2026-12-24')
  expect(
    [BEFORE, FROM, '2026-11-30', '2026-12-01', '2026-12-24'].map((day) => costAt(third, 'a', day)),
  ).toEqual(['1', '2', '2', '3', '1'])
})

test('the same data again changes nothing, however often', () => {
  const newer = listOf(
    model('a', price(2)),
    model('b', [{ prices: price(1) }, hourly('16:30:00Z', '00:30:00Z', 5)]),
  )
  const before = listOf(model('a', price(1)), model('b', price(4)), model('c', price(9)))
  const once = keepPastPrices(before, newer, FROM)
  expect(keepPastPrices(once, newer, '2026-11-24')).toEqual(once)
  expect(keepPastPrices(once, newer, '2027-11-24')).toEqual(once)
})

test('lists that are only reordered change nothing', () => {
  const models = ['a', 'b', 'c'].map((id, index) => model(id, price(index + 1), { starts_with: id }))
  const before = listOf(...models)
  expect(keepPastPrices(before, listOf(...models.toReversed()), FROM)).toEqual(before)
})

test('a date that the newer list says itself is believed, where it agrees about the time before', () => {
  const before = listOf(model('a', price(1)))
  const said = keepPastPrices(
    before,
    listOf(model('a', [{ prices: price(1) }, since('2026-11-20', 2)])),
    FROM,
  )
  expect(['2026-11-19', '2026-11-20', FROM].map((day) => costAt(said, 'a', day))).toEqual(['1', '2', '2'])
  const other = keepPastPrices(
    before,
    listOf(model('a', [{ prices: price(5) }, since('2026-11-20', 2)])),
    FROM,
  )
  expect(['2026-11-19', '2026-11-20', BEFORE, FROM].map((day) => costAt(other, 'a', day))).toEqual([
    '1',
    '1',
    '1',
    '2',
  ])
})

test('a date of more than two months ago is not believed: what was billed then stands', () => {
  const before = listOf(model('a', price(1)))
  const said = (day: string) =>
    keepPastPrices(before, listOf(model('a', [{ prices: price(1) }, since(day, 2)])), FROM)
  expect(costAt(said('2025-01-01'), 'a', BEFORE)).toBe('1')
  expect(costAt(said('2025-01-01'), 'a', FROM)).toBe('2')
  expect(costAt(said('2026-10-01'), 'a', '2026-10-01')).toBe('2')
})

test('a price that was said to come is the one that was said last', () => {
  const before = listOf(model('a', [{ prices: price(1) }, since('2027-01-01', 2)]))
  const merged = keepPastPrices(
    before,
    listOf(model('a', [{ prices: price(1) }, since('2027-02-01', 3)])),
    FROM,
  )
  expect(['2026-12-31', '2027-01-15', '2027-02-01'].map((day) => costAt(merged, 'a', day))).toEqual([
    '1',
    '1',
    '3',
  ])
  const withdrawn = keepPastPrices(before, listOf(model('a', price(1))), FROM)
  expect(costAt(withdrawn, 'a', '2027-01-15')).toBe('1')
})

test('hourly prices of old hold until the day, those of now from then on', () => {
  const before = listOf(model('a', [{ prices: price(10) }, hourly('00:30:00Z', '16:30:00Z', 20)]))
  const after = listOf(model('a', [{ prices: price(1) }, hourly('02:00:00Z', '04:00:00Z', 2)]))
  const merged = keepPastPrices(before, after, FROM)
  const at = (day: string, hour: string) => costAt(merged, 'a', `${day}T${hour}:00Z`)
  expect(['00:00', '03:00', '16:00', '17:00'].map((hour) => at(BEFORE, hour))).toEqual([
    '10',
    '20',
    '20',
    '10',
  ])
  expect(['00:00', '03:00', '16:00', '17:00'].map((hour) => at(FROM, hour))).toEqual(['1', '2', '1', '1'])
  const [found] = entriesOf(merged).providers.get('openai')?.models ?? []
  if (found === undefined) throw new Error('gone')
  // What no longer holds splits no day any more.
  expect(pricesAt(found, Date.parse(`${FROM}T01:00:00Z`))).toMatchObject({
    hours: 'other',
    untilMs: Date.parse(`${FROM}T02:00:00Z`),
  })
  const flat = keepPastPrices(merged, listOf(model('a', price(7))), '2026-12-01')
  const [now] = entriesOf(flat).providers.get('openai')?.models ?? []
  if (now === undefined) throw new Error('gone')
  expect(pricesAt(now, Date.parse('2026-12-02T03:00:00Z'))).toMatchObject({ hours: null, from: '2026-12-01' })
  expect(costAt(flat, 'a', `${BEFORE}T03:00:00Z`)).toBe('20')
  expect(costAt(flat, 'a', '2026-11-30T03:00:00Z')).toBe('2')
})

test('a model that is no longer listed keeps its last price, and its day is said', () => {
  const merged = keepPastPrices(
    listOf(model('a', price(1)), model('b', price(2))),
    listOf(model('b', price(2))),
    FROM,
  )
  expect(costAt(merged, 'a', '2027-01-01')).toBe('1')
  expect(merged[0]?.models.map((listed) => [listed.id, listed.gone_since])).toEqual([
    ['b', undefined],
    ['a', FROM],
  ])
  const again = keepPastPrices(merged, listOf(model('b', price(3))), '2026-12-01')
  expect(again[0]?.models.at(-1)).toMatchObject({ id: 'a', gone_since: FROM })
  const back = keepPastPrices(again, listOf(model('a', price(4)), model('b', price(3))), '2026-12-24')
  expect(['2026-12-23', '2026-12-24'].map((day) => costAt(back, 'a', day))).toEqual(['1', '4'])
  expect(back[0]?.models.every((listed) => listed.gone_since === undefined)).toBe(true)
})

test('a provider that is no longer listed keeps its prices', () => {
  const before = catalogDocumentOf([
    { id: 'openai', models: [model('a', price(1))] },
    { id: 'groq', models: [model('g', price(3))] },
  ])
  const merged = keepPastPrices(before, listOf(model('a', price(1))), FROM)
  expect(costAt(merged, 'g', FROM, 'groq')).toBe('3')
})

test('a price that its source no longer knows stays', () => {
  const merged = keepPastPrices(listOf(model('a', price(1))), listOf(model('a', {})), FROM)
  expect(costAt(merged, 'a', '2027-01-01')).toBe('1')
})

test('a price for what had none holds for the past too', () => {
  const before = listOf(model('a', {}))
  const merged = keepPastPrices(before, listOf(model('a', price(1)), model('n', price(2))), FROM)
  expect(costAt(merged, 'a', '2026-01-01')).toBe('1')
  expect(costAt(merged, 'n', '2026-01-01')).toBe('2')
})

test('a name that moves to another model costs before the day what it cost then', () => {
  const before = listOf(
    model('large-1', price(1), { or: [{ equals: 'large-1' }, { equals: 'large-latest' }] }),
    model('large-2', price(2)),
  )
  const after = listOf(
    model('large-1', price(1)),
    model('large-2', price(2), { or: [{ equals: 'large-2' }, { equals: 'Large-Latest' }] }),
  )
  const merged = keepPastPrices(before, after, FROM)
  expect([BEFORE, FROM].map((day) => costAt(merged, 'large-latest', day))).toEqual(['1', '2'])
  expect([BEFORE, FROM].map((day) => costAt(merged, 'large-2', day))).toEqual(['2', '2'])
  // And goes on with the model that has it.
  const later = listOf(model('large-1', price(1)), { ...after[0]?.models[1], prices: price(4) })
  const twice = keepPastPrices(merged, later, '2026-12-01')
  expect([BEFORE, FROM, '2026-12-01'].map((day) => costAt(twice, 'large-latest', day))).toEqual([
    '1',
    '2',
    '4',
  ])
})

test('a model that is listed apart now costs before the day what its name cost then', () => {
  const before = listOf(model('a', price(1), { starts_with: 'a' }))
  const after = listOf(model('a', price(1), { starts_with: 'a' }), model('a-2025-08-07', price(3)))
  const merged = keepPastPrices(before, after, FROM)
  expect([BEFORE, FROM].map((day) => costAt(merged, 'a-2025-08-07', day))).toEqual(['1', '3'])
})

test('a model that is listed under another name now costs before the day what it cost then', () => {
  const before = listOf(model('a', price(1)))
  const after = listOf(model('a-2025', price(3), { or: [{ equals: 'a' }, { equals: 'a-2025' }] }))
  const merged = keepPastPrices(before, after, FROM)
  expect([BEFORE, FROM].map((day) => costAt(merged, 'a', day))).toEqual(['1', '3'])
})

test('a name that was priced as its maker, and is listed at the host now, keeps what it cost', () => {
  const makers = { id: 'openai', models: [model('gpt-9', price(1))] }
  const azure = (...models: Written[]) => ({ id: 'azure', fallback_model_providers: ['openai'], models })
  const before = catalogDocumentOf([makers, azure(model('other', price(5)))])
  const after = catalogDocumentOf([makers, azure(model('other', price(5)), model('gpt-9', price(2)))])
  const merged = keepPastPrices(before, after, FROM)
  expect([BEFORE, FROM].map((day) => costAt(merged, 'gpt-9', day, 'azure'))).toEqual(['1', '2'])
  expect([BEFORE, FROM].map((day) => costAt(merged, 'gpt-9', day))).toEqual(['1', '1'])
})

const HISTORIES = rounds({ short: 12, long: 100 })

test(`for ${HISTORIES} random histories, every past day costs what it cost when it was today`, () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  for (let round = 0; round < HISTORIES; round += 1) {
    let catalog = listOf(model('a', price(1)), model('b', price(2), { starts_with: 'b' }))
    const charged: { day: string; name: string; cost: string | null }[] = []
    for (let day = 1; day <= 20; day += 1) {
      const today = `2026-03-${String(day).padStart(2, '0')}`
      for (const name of ['a', 'b', 'b-latest', 'c']) {
        const cost = costAt(catalog, name, today)
        if (cost !== null) charged.push({ day: today, name, cost })
      }
      const listed = ['a', 'b', 'c']
        .filter(() => random(4) > 0)
        .map((id) => {
          const own = id === 'b' ? { starts_with: 'b' } : { equals: id }
          const match = random(3) === 0 ? { or: [own, { equals: 'b-latest' }] } : own
          const prices =
            random(4) === 0
              ? [{ prices: price(random(3) + 1) }, since('2026-03-30', 8)]
              : price(random(3) + 1)
          return model(id, prices, match)
        })
      const tomorrow = `2026-03-${String(day + 1).padStart(2, '0')}`
      catalog = keepPastPrices(catalog, listOf(...(random(2) === 0 ? listed : listed.toReversed())), tomorrow)
    }
    expect(charged.map(({ day, name }) => ({ day, name, cost: costAt(catalog, name, day) }))).toEqual(charged)
  }
})

test("the package's data is a catalog in this form too, and merges with itself to itself", () => {
  const bundled = catalogDocumentOf(JSON.parse(bundledText()))
  expect(catalogDocumentOf(JSON.parse(catalogTextOf(bundled)))).toEqual(bundled)
  expect(keepPastPrices(bundled, bundled, FROM)).toEqual(bundled)
})
