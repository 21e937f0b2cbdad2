import { expect, test } from 'vitest'
import { judgeRefresh } from '../../../src/pricing/history/catalog-refresh.ts'
import { parseCatalog } from '../../../src/pricing/sources/catalog-parse.ts'

type Prices = Readonly<Record<string, number>>
type List = Readonly<Record<string, Prices>>

const provider = (id: string, models: List) => ({
  id,
  models: Object.entries(models).map(([name, prices]) => ({ id: name, match: { equals: name }, prices })),
})

const rates = (input: number, output?: number): Prices =>
  output === undefined ? { input_mtok: input } : { input_mtok: input, output_mtok: output }

const MAKER: List = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, rates(0.5, 2)]))
const IN_FORCE = [
  provider('mistral', { ...MAKER, 'x-embed': rates(0.1) }),
  provider('groq', { 'maker/m-1.5': rates(1, 4) }),
  provider('openrouter', { old: rates(10, 40) }),
]

/** What is held of rows that are new, each with why. */
function heldOf(added: Readonly<Record<string, List>>, witness: Readonly<Record<string, List>> = {}) {
  const newer = IN_FORCE.map((list) => {
    const { models } = provider(list.id, added[list.id] ?? {})
    return { ...list, models: [...list.models, ...models] }
  })
  const lists = Object.entries(witness).map(([id, list]) => provider(id, list))
  const { entries } = parseCatalog(lists, 'witness')
  const judged = judgeRefresh({ text: JSON.stringify(IN_FORCE), dataDay: null }, JSON.stringify(newer), {
    nowMs: Date.parse('2026-11-22T12:00:00Z'),
    others: entries === null ? [] : [entries],
  })
  if (judged.kind !== 'read') throw new Error(judged.problems.join('; '))
  return judged.held.map(({ model, why }) => `${model}: ${why}`)
}

test('a new model whose output costs less than its input is held, but where another source says so', () => {
  const turned = { mistral: { n: rates(2.5, 2) } }
  expect(heldOf(turned)).toEqual(['n: is new, with input at $2.5 and output at $2'])
  expect(heldOf(turned, turned)).toEqual([])
})

test('a new model far from its price everywhere else, or from all that its provider asks, is held', () => {
  expect(heldOf({ mistral: { 'm-1-5': rates(100, 400) } })).toEqual([
    'm-1-5: is new, with input at $100, and at $1 elsewhere',
  ])
  expect(heldOf({ mistral: { 'm-1-5': rates(0.01, 0.04) } })).toHaveLength(1)
  expect(heldOf({ mistral: { 'm-1-5': rates(3, 12) } })).toEqual([])
  expect(heldOf({ mistral: { n: rates(50, 200) } })).toEqual([
    'n: is new, with input at $50 and output at $200, and nine in ten there at no more than $0.5 and $2',
  ])
  expect(heldOf({ mistral: { n: rates(0.0005, 0.002) } })).toEqual([
    'n: is new, with input at $0.0005, and nearly all there at $0.1 and more',
  ])
  expect(heldOf({ mistral: { n: rates(1.5, 7) } })).toEqual([])
  // A model that others have at a like price may be far dearer than all else there.
  expect(heldOf({ mistral: { 'm-1.5': rates(4, 16) } })).toEqual([])
})

test('a new model is not held by what another new one costs, which may be the one that is wrong', () => {
  expect(heldOf({ mistral: { n: rates(1.5, 6) }, groq: { n: rates(300, 1_200) } })).toEqual([])
  const three = {
    mistral: { n: rates(1.5, 6) },
    groq: { n: rates(300, 1_200) },
    openrouter: { n: rates(1.5, 6) },
  }
  expect(heldOf(three)).toEqual(['n: is new, with input at $300, and at $1.5 elsewhere'])
})

test('a new model without a price of output is held where it is billed everywhere else', () => {
  expect(heldOf({ openrouter: { 'm-1.5': rates(1) } })).toEqual([
    'm-1.5: is new, without the output that others bill',
  ])
  expect(heldOf({ mistral: { n: rates(1) } })).toEqual([])
})

test('a host that says what each call cost moves further before a new model is held', () => {
  expect(heldOf({ openrouter: { 'm-1.5': rates(20, 80) } })).toEqual([])
  expect(heldOf({ openrouter: { 'm-1.5': rates(100, 400) } })).toHaveLength(1)
})

test('a class that is two since has not jumped', () => {
  const before = [provider('openai', { picture: rates(0.3, 30) })]
  const split = { input_mtok: 0.3, output_mtok: 2.5, output_image_mtok: 30 }
  const judgeOf = (prices: Prices) =>
    judgeRefresh(
      { text: JSON.stringify(before), dataDay: null },
      JSON.stringify([provider('openai', { picture: prices })]),
      {
        nowMs: Date.parse('2026-11-22T12:00:00Z'),
      },
    )
  expect(judgeOf(split)).toMatchObject({ held: [] })
  expect(judgeOf({ ...split, output_image_mtok: 20 })).toMatchObject({ held: [{ model: 'picture' }] })
})

test('a row that costs what it cost is not new under another name', () => {
  const row = (names: readonly string[], price: Prices) => ({
    id: 'Maker/M-1.5',
    match: { or: names.map((name) => ({ equals: name })) },
    prices: price,
  })
  const judge = (price: Prices) => {
    const list = (names: readonly string[], of: Prices) =>
      JSON.stringify([...IN_FORCE, { id: 'nscale', models: [row(names, of)] }])
    const judged = judgeRefresh(
      { text: list(['maker/m-1.5'], rates(0.01, 0.03)), dataDay: null },
      list(['maker/m-1.5', 'maker/m-1.5-fast'], price),
      { nowMs: Date.parse('2026-11-22T12:00:00Z'), others: [] },
    )
    return judged.kind === 'read' ? judged.held.map(({ why }) => why) : judged.problems
  }
  expect(judge(rates(0.01, 0.03))).toEqual([])
  expect(judge(rates(0.011, 0.03))).toEqual(['is new, with input at $0.011, and at $1 elsewhere'])
})
