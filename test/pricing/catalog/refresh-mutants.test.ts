// @seconds: the whole of the bundled data is judged several times
import { expect, test } from 'vitest'
import { bundledText } from '#prices/bundled-lists.ts'
import type { CatalogDocument, ModelDocument } from '#prices/catalog-document.ts'
import { judgeRefresh } from '../../../src/pricing/history/catalog-refresh.ts'
import { bundledEntries } from '../../../src/pricing/sources/catalog-bundle.ts'

const NOW = Date.parse('2026-11-25T12:00:00Z')
const OTHERS = [bundledEntries('models.dev'), bundledEntries('litellm')]
const BEFORE: CatalogDocument = JSON.parse(bundledText())

type Rates = Readonly<Record<string, number>>

/** What a line that is written wrong looks like; each is given the prices of a model with plain ones. */
const MUTATIONS: Readonly<Record<string, (rates: Rates) => Record<string, unknown>>> = {
  'a hundred times dearer': (rates) => mapRates(rates, (dollars) => dollars * 100),
  'a hundredth of it': (rates) => mapRates(rates, (dollars) => dollars / 100),
  'for nothing': (rates) => mapRates(rates, () => 0),
  'input and output exchanged': (rates) => ({
    ...rates,
    input_mtok: rates.output_mtok,
    output_mtok: rates.input_mtok,
  }),
  'cut before its output': ({ output_mtok: _, ...rates }) => rates,
  'not a number': (rates) => ({ ...rates, input_mtok: 'NaN' }),
}

function mapRates(rates: Rates, change: (dollars: number) => number): Record<string, number> {
  return Object.fromEntries(Object.entries(rates).map(([key, dollars]) => [key, change(dollars)]))
}

/** Of a model with one price, all of it plain, and output dearer than input. */
function plainRates({ prices }: ModelDocument): Rates | null {
  const rates = prices[0]?.prices ?? {}
  const isPlain = Object.values(rates).every((rate) => typeof rate === 'number')
  const { input_mtok: input = 0, output_mtok: output = 0 } = rates as Rates
  return prices.length === 1 && isPlain && input > 0 && output > input * 2 ? (rates as Rates) : null
}

const key = (provider: string, model: string) => `${provider}/${model}`

test.each(Object.entries(MUTATIONS))(
  'one row in a thousand is %s: it keeps its price, and all sound rows have their newer ones',
  (_, mutate) => {
    const plain = BEFORE.flatMap(({ id, models }) =>
      models.flatMap((model) => (plainRates(model) === null ? [] : [key(id, model.id)])),
    )
    const rows = BEFORE.reduce((sum, { models }) => sum + models.length, 0)
    const every = Math.floor(plain.length / Math.ceil(rows / 1_000))
    const mutated = new Set(plain.filter((_name, index) => index % every === 0))
    // Sound ones beside them: a tenth dearer.
    const sound = new Set(plain.filter((_name, index) => index % every !== 0 && index % 10 === 3))
    const after = BEFORE.map(({ models, ...provider }) => ({
      ...provider,
      models: models.map((model) => {
        const name = key(provider.id, model.id)
        const rates = plainRates(model)
        if (rates === null || !(mutated.has(name) || sound.has(name))) return model
        const changed = mutated.has(name) ? mutate(rates) : mapRates(rates, (dollars) => dollars * 1.1)
        return { ...model, prices: [{ prices: changed }] }
      }),
    }))
    const inForce = { text: bundledText(), dataDay: null }
    const judged = judgeRefresh(inForce, JSON.stringify(after), { nowMs: NOW, others: OTHERS })
    if (judged.kind !== 'read') throw new Error(judged.problems.join('; '))
    expect(judged.doubts).toEqual([])
    expect(new Set(judged.held.map(({ provider, model }) => key(provider, model)))).toEqual(mutated)
    const taken: CatalogDocument = JSON.parse(judged.text ?? '[]')
    const last = (document: CatalogDocument) =>
      new Map(
        document.flatMap(({ id, models }) =>
          models.map((model) => [key(id, model.id), model.prices.at(-1)?.prices] as const),
        ),
      )
    const [before, now] = [last(BEFORE), last(taken)]
    for (const name of mutated) expect(now.get(name), name).toEqual(before.get(name))
    for (const name of sound) expect(now.get(name), name).not.toEqual(before.get(name))
  },
  120_000,
)

test.each([
  ['for nothing', 0],
  ['a hundred times dearer', 100],
])('prices at a service tier that are %s are held, and those before stand', (_, times) => {
  const tiersOf = (document: CatalogDocument) =>
    document.find(({ id }) => id === 'openai')?.models.find(({ id }) => id === 'gpt-5')?.price_variants
  const after = BEFORE.map((provider) => ({
    ...provider,
    models: provider.models.map((model) => {
      if (provider.id !== 'openai' || model.id !== 'gpt-5') return model
      const variants = model.price_variants?.map((variant) => ({
        ...variant,
        prices: mapRates(variant.prices as Rates, (dollars) => dollars * times),
      }))
      return { ...model, price_variants: variants ?? [] }
    }),
  }))
  const inForce = { text: bundledText(), dataDay: null }
  const judged = judgeRefresh(inForce, JSON.stringify(after), { nowMs: NOW, others: OTHERS })
  if (judged.kind !== 'read') throw new Error(judged.problems.join('; '))
  expect(judged.held).toMatchObject([{ provider: 'openai', model: 'gpt-5' }])
  const taken: CatalogDocument = judged.text === null ? BEFORE : JSON.parse(judged.text)
  expect(tiersOf(taken)).toEqual(tiersOf(BEFORE))
})

test('a row whose rule takes any name is held, and gives no model its price', () => {
  const wide = { id: 'all', match: { regex: '.*' }, prices: [{ prices: { input_mtok: 1, output_mtok: 2 } }] }
  const after = BEFORE.map((provider) =>
    provider.id === 'openai' ? { ...provider, models: [wide, ...provider.models] } : provider,
  )
  const inForce = { text: bundledText(), dataDay: null }
  const judged = judgeRefresh(inForce, JSON.stringify(after), { nowMs: NOW, others: OTHERS })
  expect(judged).toMatchObject({ text: null, held: [{ provider: 'openai', model: 'all' }] })
})
