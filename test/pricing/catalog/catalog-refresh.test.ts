// @seconds: whole lists of prices are judged a hundred times
import { expect, test } from 'vitest'
import { bundledText } from '#prices/bundled-lists.ts'
import type { CatalogEntries } from '../../../src/pricing/catalog/catalog-entries.ts'
import {
  acceptRows,
  type CatalogInForce,
  inForceFrom,
  judgeRefresh,
} from '../../../src/pricing/history/catalog-refresh.ts'
import { parseCatalog } from '../../../src/pricing/sources/catalog-parse.ts'
import { threadMs } from '../../support/patience.ts'

const NOW = Date.parse('2026-11-22T12:00:00Z')

interface Model {
  readonly id: string
  readonly match: object
  readonly prices: unknown
}

/** Twenty models at one dollar. */
const MODELS: readonly Model[] = Array.from({ length: 20 }, (_, index) => ({
  id: `m${index}`,
  match: { equals: `m${index}` },
  prices: { input_mtok: 1, output_mtok: 4 },
}))

function listOf(models: readonly Model[]): string {
  return JSON.stringify([{ id: 'openai', models }])
}

/** The twenty, the first of them with other prices. */
function withPrices(prices: unknown): string {
  return listOf(MODELS.map((model, index) => (index === 0 ? { ...model, prices } : model)))
}

/** More models than the package has, none of them of it. */
const ALL_KNOWN: readonly Model[] = Array.from({ length: 2_000 }, (_, index) => ({
  id: `k${index}`,
  match: { equals: `k${index}` },
  prices: { input_mtok: 1 },
}))

const IN_FORCE: CatalogInForce = { text: listOf(MODELS), dataDay: null }

function judge(fetched: string, inForce = IN_FORCE) {
  return judgeRefresh(inForce, fetched, { nowMs: NOW })
}

function doubtsOf(fetched: string, inForce = IN_FORCE): readonly string[] {
  const judged = judge(fetched, inForce)
  return judged.kind === 'read' ? judged.doubts : judged.problems.map((problem) => `unreadable: ${problem}`)
}

test('what a refresh changes begins with the next day, and in the last hour of a day with the one after', () => {
  expect(inForceFrom(Date.parse('2026-11-22T00:00:00Z'))).toBe('2026-11-23')
  expect(inForceFrom(Date.parse('2026-11-22T22:59:59Z'))).toBe('2026-11-23')
  expect(inForceFrom(Date.parse('2026-11-22T23:00:00Z'))).toBe('2026-11-24')
})

test('newer data is taken, and what it changes is reported', () => {
  const judged = judge(withPrices({ input_mtok: 2, output_mtok: 4 }))
  expect(judged).toMatchObject({
    kind: 'read',
    doubts: [],
    from: '2026-11-23',
    changes: [{ provider: 'openai', model: 'm0', what: 'input_mtok', before: '1', after: '2' }],
  })
})

test('the same data changes nothing, in whatever order and with whatever beside it', () => {
  const said = MODELS.map((model) => ({
    ...model,
    name: 'M',
    description: 'x',
    prices: [{ prices: model.prices }],
  }))
  expect(judge(listOf(said.toReversed()))).toMatchObject({
    kind: 'read',
    doubts: [],
    text: null,
    changes: [],
  })
  const bundled = { text: bundledText(), dataDay: null }
  expect(judge(bundledText(), bundled)).toMatchObject({ kind: 'read', doubts: [], text: null })
})

const MODEL_AGAIN: Model = { id: 'm0', match: { equals: 'm0' }, prices: { input_mtok: 0.0001 } }

const UNREAD: readonly (readonly [string, string, RegExp])[] = [
  ['a negative price', withPrices({ input_mtok: -1 }), /input_mtok is not a price/],
  [
    'a price without end',
    withPrices({ input_mtok: 1 }).replace('"input_mtok":1}', '"input_mtok":1e999}'),
    /not a price/,
  ],
  ['a price that is text', withPrices({ input_mtok: '1' }), /input_mtok is not a price/],
  [
    'an unknown constraint',
    withPrices([{ constraint: { region: 'eu' }, prices: { input_mtok: 1 } }]),
    /constraint/,
  ],
  ['a model twice', listOf([...MODELS, MODEL_AGAIN]), /is there twice/],
]

for (const [what, fetched, why] of UNREAD) {
  test(`${what}: the model keeps its old price, and the others have their newer ones`, () => {
    const models: Model[] = JSON.parse(fetched)[0].models
    const changed = models.map((model) =>
      model.id === 'm5' ? { ...model, prices: { input_mtok: 2, output_mtok: 4 } } : model,
    )
    // JSON has no number without end, so it is put back.
    const written = listOf(changed).replace('"input_mtok":null', '"input_mtok":1e999')
    const judged = judge(written)
    expect(judged).toMatchObject({ kind: 'read', doubts: [] })
    if (judged.kind !== 'read') return
    expect(judged.held).toMatchObject([{ provider: 'openai', model: 'm0', why: expect.stringMatching(why) }])
    expect(priceIn(judged.text, 'm0')).toEqual([1, 4])
    expect(priceIn(judged.text, 'm5')).toEqual([2, 4])
  })
}

test('a list of which many rows cannot be read is none', () => {
  const broken = MODELS.map((model, index) => (index < 2 ? { ...model, prices: { input_mtok: -1 } } : model))
  expect(judge(listOf(broken))).toMatchObject({ kind: 'unreadable' })
})

/** The last prices of input and output of a model in a catalog's text. */
function priceIn(text: string | null, id: string): readonly unknown[] {
  const models: { id: string; prices: { prices: Record<string, unknown> }[] }[] =
    text === null ? [] : JSON.parse(text)[0].models
  const last = models.find((model) => model.id === id)?.prices.at(-1)?.prices
  return [last?.input_mtok, last?.output_mtok]
}

const UNREADABLE: readonly (readonly [string, string, RegExp])[] = [
  ['nothing', '', /is not JSON/],
  ['a page', '<!doctype html><html><body>Sign in</body></html>', /is not JSON/],
  ['data that is cut', withPrices({ input_mtok: 2 }).slice(0, -40), /is not JSON/],
  ['something else', '{"error":"rate limited"}', /is not a list of providers/],
  ['no providers', '[]', /is not a list of providers/],
  [
    'rules nested without end',
    `[{"id":"openai","models":[{"id":"a","prices":{},"match":${'{"or":['.repeat(100_000)}${']}'.repeat(100_000)}}]}]`,
    /./,
  ],
  [
    'a hundred thousand models',
    listOf(Array.from({ length: 100_000 }, (_, index) => ({ ...MODELS[0], id: `x${index}` }) as Model)),
    /lists 200000 models and rules/,
  ],
]

for (const [what, fetched, problem] of UNREADABLE) {
  test(`${what} cannot be taken, even by an operator`, () => {
    const beganMs = threadMs()
    const judged = judge(fetched)
    expect(judged.kind).toBe('unreadable')
    expect(judged.kind === 'unreadable' ? judged.problems.join() : '').toMatch(problem)
    expect(threadMs() - beganMs).toBeLessThan(30_000)
  })
}

const LONG = 'a'.repeat(40)
for (const regex of [
  '^(a+)+$',
  '^([a-z0-9.-]+)+!$',
  `^${'a?'.repeat(40)}${LONG}$`,
  `^${'(?:a|a)'.repeat(40)}!$`,
  `^${'a{0,9}'.repeat(9)}!$`,
]) {
  test(`names by ${regex.slice(0, 20)} cannot be taken, even by an operator, and no name is tried on it`, () => {
    const names = [LONG, LONG.slice(1), `${LONG}?`]
    const victims = names.map((id) => ({ id, match: { equals: id }, prices: { input_mtok: 1 } }))
    const judged = judge(listOf([{ id: 'x', match: { regex }, prices: {} }, ...MODELS, ...victims]))
    expect(judged).toMatchObject({
      doubts: [],
      held: [{ model: 'x', why: expect.stringContaining('may take for ever'), offered: null }],
      changes: names.toSorted().map((model) => ({ model, after: 'new' })),
    })
  })
}

test('every rule of the package could have come by a refresh', () => {
  expect(judge(bundledText(), { ...IN_FORCE, text: listOf(ALL_KNOWN) }).kind).toBe('read')
})

const DOUBTED: readonly (readonly [string, string, RegExp])[] = [
  ['a price that is never asked', withPrices({ input_mtok: 10_001 }), /input_mtok is \$10001/],
  [
    'one above a size of prompt',
    withPrices({ input_mtok: { base: 1, tiers: [{ start: 200_000, price: 20_000 }] }, output_mtok: 4 }),
    /is \$20000/,
  ],
  [
    'a price of more than ten times',
    withPrices({ input_mtok: 10.1, output_mtok: 4 }),
    /^input_mtok from \$1 to \$10.1/,
  ],
  [
    'a price of less than a tenth',
    withPrices({ input_mtok: 1, output_mtok: 0.3 }),
    /^output_mtok from \$4 to \$0.3/,
  ],
  [
    'what cost something for nothing',
    withPrices({ input_mtok: 0, output_mtok: 4 }),
    /^input_mtok from \$1 to \$0/,
  ],
  [
    'such a price from a day to come',
    withPrices([
      { prices: { input_mtok: 1, output_mtok: 4 } },
      { constraint: { start_date: '2027-01-01' }, prices: { input_mtok: 99, output_mtok: 4 } },
    ]),
    /to \$99/,
  ],
  [
    'such a price for some hours',
    withPrices([
      { prices: { input_mtok: 1, output_mtok: 4 } },
      {
        constraint: { start_time: '01:00:00Z', end_time: '02:00:00Z' },
        prices: { input_mtok: 99, output_mtok: 4 },
      },
    ]),
    /to \$99/,
  ],
  ['tokens without a price', withPrices({ input_mtok: 1 }), /^output_mtok has no price any more/],
  [
    'input and output the other way round',
    withPrices({ input_mtok: 4, output_mtok: 1 }),
    /the other way round/,
  ],
]

for (const [what, fetched, why] of DOUBTED) {
  test(`${what}: the model keeps its old price, and only a person takes the newer one`, () => {
    const models: Model[] = JSON.parse(fetched)[0].models
    const changed = models.map((model) =>
      model.id === 'm5' ? { ...model, prices: { input_mtok: 2, output_mtok: 4 } } : model,
    )
    const judged = judge(listOf(changed))
    expect(judged).toMatchObject({ kind: 'read', doubts: [] })
    if (judged.kind !== 'read') return
    expect(judged.held).toMatchObject([{ provider: 'openai', model: 'm0', why: expect.stringMatching(why) }])
    expect(priceIn(judged.text, 'm0')).toEqual([1, 4])
    expect(priceIn(judged.text, 'm5')).toEqual([2, 4])
    const { text } = acceptRows({ text: judged.text ?? '' }, judged.held, NOW)
    expect(priceIn(text, 'm0')).not.toEqual([1, 4])
    expect(priceIn(text, 'm5')).toEqual([2, 4])
    // A person who says so takes all of it at once.
    expect(judgeRefresh(IN_FORCE, listOf(changed), { nowMs: NOW, acceptAll: true })).toMatchObject({
      held: [],
    })
  })
}

test('two models that have exchanged their prices both keep the old ones', () => {
  const dear = { id: 'dear', match: { equals: 'dear' }, prices: { input_mtok: 3, output_mtok: 15 } }
  const before = listOf([...MODELS, dear])
  const exchanged = [...MODELS, dear].map((model) =>
    model.id === 'dear'
      ? { ...model, prices: { input_mtok: 1, output_mtok: 4 } }
      : model.id === 'm0'
        ? { ...model, prices: dear.prices }
        : model,
  )
  const judged = judge(listOf(exchanged), { text: before, dataDay: null })
  expect(judged.kind === 'read' && judged.held.map(({ model }) => model).sort()).toEqual(['dear', 'm0'])
})

test('a model that is new is not taken for nothing, nor at a price that all other sources contradict', () => {
  const added = (prices: object) => listOf([...MODELS, { id: 'new', match: { equals: 'new' }, prices }])
  const of = (dollars: number): CatalogEntries => {
    const model = {
      id: 'new',
      match: { equals: 'new' },
      prices: { input_mtok: dollars, output_mtok: dollars * 4 },
    }
    const { entries } = parseCatalog([{ id: 'openai', models: [model] }], 'other@1')
    if (entries === null) throw new Error('not a catalog')
    return entries
  }
  const held = (prices: object, others: readonly CatalogEntries[] = []) => {
    const judged = judgeRefresh(IN_FORCE, added(prices), { nowMs: NOW, others })
    if (judged.kind !== 'read') throw new Error('unreadable')
    return [judged.held.map(({ model }) => model), judged.text?.includes('"id":"new"') ?? false]
  }
  expect(held({ input_mtok: 2, output_mtok: 8 })).toEqual([[], true])
  expect(held({ input_mtok: 0, output_mtok: 0 })).toEqual([['new'], false])
  expect(held({ input_mtok: 200, output_mtok: 800 }, [of(2)])).toEqual([['new'], false])
  expect(held({ input_mtok: 200, output_mtok: 800 }, [of(2), of(200)])).toEqual([[], true])
})

test('a jump that two other sources confirm is none, and one is not enough', () => {
  const now = { input_mtok: 50, output_mtok: 200 }
  const { entries } = parseCatalog(
    [{ id: 'openai', models: [{ id: 'm0', match: { equals: 'm0' }, prices: now }] }],
    'other@1',
  )
  if (entries === null) throw new Error('not a catalog')
  const held = (others: readonly CatalogEntries[]) => {
    const judged = judgeRefresh(IN_FORCE, withPrices(now), { nowMs: NOW, others })
    return judged.kind === 'read' && judged.held.length
  }
  expect(held([entries])).toBe(1)
  expect(held([entries, { ...entries }])).toBe(0)
})

test('a host that says what each call cost moves its prices further before they are doubted', () => {
  const at = (provider: string, dollars: number) => {
    const list = (input: number) => {
      const model = { id: 'x', match: { equals: 'x' }, prices: { input_mtok: input, output_mtok: 40 } }
      return JSON.stringify([
        { id: 'openai', models: MODELS },
        { id: provider, models: [model] },
      ])
    }
    const judged = judgeRefresh({ text: list(0.1), dataDay: null }, list(dollars), { nowMs: NOW })
    return judged.kind === 'read' && judged.held.length
  }
  expect([at('openrouter', 3.5), at('openrouter', 10), at('mistral', 3.5)]).toEqual([0, 1, 1])
})

const DOUBTFUL: readonly (readonly [string, string, RegExp])[] = [
  ['fewer than nine of ten models', listOf(MODELS.slice(0, 17)), /lists 17 of the 20 models/],
  [
    'other prices for more than a quarter',
    listOf(
      MODELS.map((model, index) =>
        index < 6 ? { ...model, prices: { input_mtok: 2, output_mtok: 4 } } : model,
      ),
    ),
    /changes 6 of 20 prices at once/,
  ],
]

for (const [what, fetched, doubt] of DOUBTFUL) {
  test(`${what}: all of it needs a person`, () => {
    expect(doubtsOf(fetched).join('\n')).toMatch(doubt)
  })
}

test('what is just within the bounds needs no operator', () => {
  expect(doubtsOf(listOf(MODELS.slice(0, 18)))).toEqual([])
  expect(doubtsOf(withPrices({ input_mtok: 10, output_mtok: 0.4, cache_read_mtok: 10_000 }))).toEqual([])
  expect(doubtsOf(listOf([...MODELS, { id: 'x', match: { regex: '^x-[0-9]{8}$' }, prices: {} }]))).toEqual([])
})

test('data whose newest price is older than that of the data in force is older', () => {
  const dated = (day: string) =>
    withPrices([
      { prices: { input_mtok: 1 } },
      { constraint: { start_date: day }, prices: { input_mtok: 2 } },
    ])
  const inForce = { text: dated('2026-10-02'), dataDay: '2026-10-02' }
  expect(doubtsOf(dated('2026-10-01'), inForce)).toContain(
    'it is older: its newest price is of 2026-10-01, that in force of 2026-10-02',
  )
  expect(judge(dated('2026-10-03'), inForce)).toMatchObject({ doubts: [], dataDay: '2026-10-03' })
  // A price that is still to come says nothing of how old the data is.
  expect(judge(dated('2027-10-03'), IN_FORCE)).toMatchObject({ dataDay: null })
})

test('data that only takes prices back to what they were is older', () => {
  const first = judge(withPrices({ input_mtok: 2, output_mtok: 4 }))
  if (first.kind !== 'read' || first.text === null) throw new Error('was not taken')
  const days = 3 * 86_400_000
  const back = judgeRefresh({ text: first.text, dataDay: null }, listOf(MODELS), { nowMs: NOW + days })
  expect(back.kind === 'read' && back.doubts).toEqual([
    'it is older: all that it changes is prices of 1 names, back to what they were before',
  ])
  const withNews = listOf([...MODELS, { id: 'new', match: { equals: 'new' }, prices: { input_mtok: 1 } }])
  expect(judgeRefresh({ text: first.text, dataDay: null }, withNews, { nowMs: NOW + days })).toMatchObject({
    doubts: [],
  })
})
