import { expect, test } from 'vitest'
import { findPricesIn } from '../../../src/pricing/history/catalog-past.ts'
import { acceptRows, judgeRefresh } from '../../../src/pricing/history/catalog-refresh.ts'
import { parseCatalog } from '../../../src/pricing/sources/catalog-parse.ts'

const NOW = Date.parse('2026-11-22T12:00:00Z')
const MS_PER_DAY = 86_400_000

interface Row {
  readonly id: string
  readonly match: object
  readonly prices: object
  readonly [field: string]: unknown
}

/** Twenty models, each a dollar dearer than the one before it. */
const ROWS: readonly Row[] = Array.from({ length: 20 }, (_, index) => ({
  id: `m${index}`,
  match: { equals: `m${index}` },
  prices: [{ prices: { input_mtok: index + 1, output_mtok: 4 * (index + 1) } }],
}))
/** So that these are most of no file. */
const OTHERS = Array.from({ length: 80 }, (_, index) => ({
  id: `o${index}`,
  match: { equals: `o${index}` },
  prices: { input_mtok: 1.5, output_mtok: 4 },
}))

const listOf = (rows: readonly Row[], id = 'openai') =>
  JSON.stringify([
    { id, models: rows },
    { id: 'mistral', models: OTHERS },
  ])
const IN_FORCE = { text: listOf(ROWS), dataDay: null }

function judge(rows: readonly Row[], options: object = {}, inForce = IN_FORCE) {
  const judged = judgeRefresh(inForce, listOf(rows), { nowMs: NOW, ...options })
  if (judged.kind !== 'read') throw new Error(judged.problems.join('; '))
  expect(judged.doubts).toEqual([])
  return judged
}

/** What a name costs on the last day that is known, after the refresh. */
function priceOf({ text }: { readonly text: string | null }, name: string, provider = 'openai'): unknown {
  return findPricesIn(JSON.parse(text ?? IN_FORCE.text))(provider, name)?.at(-1)?.prices.input_mtok ?? null
}

const withPrice = (row: Row, from: Row | undefined): Row => ({ ...row, prices: from?.prices ?? {} })
const times = (row: Row, index: number, factor: number): Row => ({
  ...row,
  prices: [{ prices: { input_mtok: factor * (index + 1), output_mtok: factor * 4 * (index + 1) } }],
})

test('three models that have each other’s prices in a ring keep the old ones', () => {
  const ring = judge(ROWS.map((row, index) => (index < 3 ? withPrice(row, ROWS[(index + 1) % 3]) : row)))
  expect(ring.held.map(({ model, why }) => `${model} ${why}`)).toEqual([
    'm0 has the prices of m1, and another has its',
    'm1 has the prices of m2, and another has its',
    'm2 has the prices of m0, and another has its',
  ])
  expect(ring.text).toBeNull()
  // One that takes the price of the one below it has only become cheaper.
  const cut = judge(ROWS.map((row, index) => (index === 5 ? withPrice(row, ROWS[4]) : row)))
  expect(cut).toMatchObject({ held: [] })
})

test('a provider whose lines have slipped by one keeps its prices', () => {
  const slipped = judge(ROWS.map((row, index) => withPrice(row, ROWS[Math.min(index + 1, 19)])))
  expect(slipped.held).toHaveLength(19)
  expect(slipped.held[0]?.why).toBe('has the prices of another there, as 19 of 20 have')
  expect(slipped.text).toBeNull()
})

test('a provider in another currency keeps its prices, and those that two sources confirm come into force', () => {
  const inYuan = ROWS.map((row, index) => times(row, index, 7.2))
  const foreign = judge(inYuan)
  expect(foreign.held).toHaveLength(20)
  expect(foreign.held[0]?.why).toBe('costs 7.2 times what it did, as 20 of 20 do there')
  const { entries } = parseCatalog([{ id: 'openai', models: inYuan.slice(0, 4) }], 'witness')
  if (entries === null) throw new Error('no witness')
  expect(judge(inYuan, { others: [entries, entries] }).held).toHaveLength(16)
  // What became a quarter dearer, or in part.
  expect(judge(ROWS.map((row, index) => times(row, index, 1.25))).held).toEqual([])
  expect(judge(ROWS.map((row, index) => (index < 10 ? times(row, index, 3) : row))).held).toEqual([])
})

test.each([
  ['batch', 4, 'input_mtok is dearer at batch than without, at $8'],
  ['priority', 0.5, 'input_mtok is cheaper at priority than without, at $1'],
])('a tier of %s on the wrong side of the standard price is held', (tier, factor, why) => {
  const atTier = (times: number) => ({
    price_variants: [
      { when: { service_tier: tier }, prices: { input_mtok: 2 * times, output_mtok: 8 * times } },
    ],
  })
  const withTier = (times: number) =>
    ROWS.map((row, index) => (index === 1 ? { ...row, ...atTier(times) } : row))
  expect(judge(withTier(factor)).held).toMatchObject([{ model: 'm1', why }])
  expect(judge(withTier(factor)).text ?? '').not.toContain('price_variants')
  expect(judge(withTier(1 / factor)).held).toEqual([])
  // The standard price moves past a tier that is as it was.
  const before = { text: listOf(withTier(1 / factor)), dataDay: null }
  const moved = withTier(1 / factor).map((row, index) =>
    index === 1 ? { ...times(row, 0, factor < 1 ? 5 : 0.3) } : row,
  )
  expect(judge(moved, {}, before).held).toEqual([])
})

test.each([
  ['equals', { or: [{ equals: 'x' }, { equals: 'm3' }] }],
  ['regex', { regex: '^m[0-9]+$' }],
  ['contains', { or: [{ equals: 'x' }, { contains: 'm3' }] }],
])('a row that takes the names of others by %s is held, and only what is its own may be accepted', (_, match) => {
  const taker: Row = { id: 'x', match, prices: { input_mtok: 5, output_mtok: 30 } }
  for (const rows of [
    [taker, ...ROWS],
    [...ROWS, taker],
  ]) {
    const judged = judge(rows)
    expect(judged.held).toMatchObject([
      { model: 'x', why: expect.stringMatching(/^takes the name m\d+ of m\d+$/) },
    ])
    expect(priceOf(judged, 'm3')).toBe(4)
    expect(priceOf(judged, 'm999')).toBeNull()
    const accepted = acceptRows(IN_FORCE, judged.held, NOW)
    expect(priceOf(accepted, 'm3')).toBe(4)
    expect(priceOf(accepted, 'x')).toBe(5)
  }
  // A name that its row gives up may be another's.
  const moved = judge([
    { ...taker, match: { or: [{ equals: 'x' }, { equals: 'm3' }] } },
    ...ROWS.toSpliced(3, 1),
  ])
  expect(moved.held).toEqual([])
  expect(priceOf(moved, 'm3')).toBe(5)
})

test.each([
  'gone_since',
  'moved_since',
  'known_since',
])('a source that writes %s itself hides nothing of what it changes, and no past price is known by it', (field) => {
  const judged = judge(
    ROWS.map((row, index) => (index === 3 ? { ...times(row, index, 2), [field]: '2026-01-01' } : row)),
  )
  expect(judged.changes.map(({ model, what }) => `${model} ${what}`)).toEqual([
    'm3 input_mtok',
    'm3 output_mtok',
  ])
  expect(judged.text).not.toContain('2026-01-01')
})

test('a source does not say itself that a person has let a host follow its maker', () => {
  const judged = judge([
    ...ROWS,
    { ...times(ROWS[0] as Row, 0, 2), id: 'x', match: { equals: 'x' }, sells_for: 'mistral' },
  ])
  expect(judged.text).not.toContain('sells_for')
})

test('a provider that is called otherwise keeps its prices, and they are said to stay as they are for a month', () => {
  const renamed = judgeRefresh(IN_FORCE, listOf(ROWS, 'open-ai'), { nowMs: NOW })
  if (renamed.kind !== 'read' || renamed.text === null) throw new Error('was not taken')
  const note = {
    provider: 'openai',
    model: '*',
    why: 'none of its 20 models is listed any more, so that their prices stay as they are',
    offered: null,
  }
  expect(renamed.held).toEqual([note])
  expect(priceOf(renamed, 'm3')).toBe(4)
  const inForce = { text: renamed.text, dataDay: null }
  const later = (days: number, id: string) =>
    judgeRefresh(inForce, listOf(ROWS, id), { nowMs: NOW + days * MS_PER_DAY })
  expect(later(29, 'open-ai')).toMatchObject({ held: [note] })
  expect(later(31, 'open-ai')).toMatchObject({ held: [] })
  expect(later(1, 'openai')).toMatchObject({ held: [] })
})
