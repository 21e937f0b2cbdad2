import { expect, test } from 'vitest'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import { acceptRows, judgeRefresh } from '../../src/pricing/history/catalog-refresh.ts'
import { catalogOfText } from '../../src/pricing/sources/catalog-file.ts'

const at = (dollars: number) => ({ input_mtok: dollars, output_mtok: 4 * dollars })
const from = (day: string, dollars: number) => ({ constraint: { start_date: day }, prices: at(dollars) })

interface Listed {
  readonly openai: unknown
  /** What the source lists for Azure itself. */
  readonly azure?: unknown
}

/** A list in which Azure sells OpenAI's `m`, and lists another model itself. */
function list({ openai, azure }: Listed, more: object = {}): string {
  const model = (id: string, prices: unknown) => ({ id, match: { equals: id }, prices, ...more })
  return JSON.stringify([
    { id: 'openai', models: [model('m', openai), model('other', at(1))] },
    {
      id: 'azure',
      fallback_model_providers: ['openai'],
      models: [model('own', at(1)), ...(azure === undefined ? [] : [model('m', azure)])],
    },
  ])
}

function judged(before: string, after: string, day: string) {
  const result = judgeRefresh({ text: before, dataDay: null, knownSince: '2026-11-01' }, after, {
    nowMs: Date.parse(`${day}T12:00:00Z`),
  })
  if (result.kind !== 'read') throw new Error(result.problems.join())
  return { text: result.text ?? before, held: result.held }
}

/** US dollars for a million tokens of input, or why there is no price. */
function priced(text: string, provider: string, day: string, isPast = false, tier: string | null = null) {
  const catalog = buildCatalog({ entries: catalogOfText('genai-prices@2026-11-01.0123456789ab', text) })
  const answer = (isPast ? catalog.ofPast() : catalog).priceCall({
    provider,
    upstream: 'up',
    clientName: null,
    model: 'm',
    requestedModel: 'm',
    usage: { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 0 },
    units: NO_UNITS,
    serviceTier: tier,
    arrivedAtMs: Date.parse(`${day}T12:00:00Z`),
    reportedCostPico: null,
    parts: null,
  })
  return answer.kind === 'priced' ? Number(answer.costPico) / 1e12 : answer.reason
}

test("a maker's change is the maker's: a host that has its price keeps the old one, and the change waits", () => {
  const { text, held } = judged(list({ openai: at(2) }), list({ openai: at(1) }), '2026-11-10')
  expect([priced(text, 'openai', '2026-11-10'), priced(text, 'openai', '2026-11-11')]).toEqual([2, 1])
  expect([priced(text, 'azure-openai', '2026-11-10'), priced(text, 'azure-openai', '2027-03-01')]).toEqual([
    2, 2,
  ])
  expect(held).toMatchObject([
    {
      provider: 'azure',
      model: 'm',
      why: 'its maker changed $2/8 to $1/4, and no list says so of this host',
    },
  ])
  // It waits until a person or a list says so.
  expect(judged(text, list({ openai: at(1) }), '2026-11-20')).toMatchObject({ text, held: [{ model: 'm' }] })
})

test('a change that the maker has announced does not reach a host on its day', () => {
  const announced = [{ prices: at(2) }, from('2026-12-15', 1)]
  const text = list({ openai: announced })
  expect([priced(text, 'openai', '2026-12-15'), priced(text, 'azure-openai', '2026-12-15')]).toEqual([1, 2])
})

test('a person accepts it by one command, for the host alone and from the next day on', () => {
  const changed = judged(list({ openai: at(2) }), list({ openai: at(1) }), '2026-11-10')
  const accepted = acceptRows(
    { text: changed.text, knownSince: '2026-11-01' },
    changed.held,
    Date.parse('2026-11-20T12:00:00Z'),
  )
  expect(accepted.from).toBe('2026-11-21')
  const { text } = accepted
  expect([priced(text, 'azure-openai', '2026-11-20'), priced(text, 'azure-openai', '2026-11-21')]).toEqual([
    2, 1,
  ])
  expect(priced(text, 'openai', '2026-11-10')).toBe(2)
  // Settled, until the maker changes it again.
  const later = judged(text, list({ openai: at(1) }), '2026-11-25')
  expect(later).toEqual({ text, held: [] })
  const again = judged(text, list({ openai: at(3) }), '2026-12-01')
  expect(again.held).toMatchObject([{ provider: 'azure', why: expect.stringContaining('$1/4 to $3/12') }])
  expect(priced(again.text, 'azure-openai', '2026-12-10')).toBe(1)
})

test('a source that lists the model for the host itself ends the wait, with its own day', () => {
  const changed = judged(list({ openai: at(2) }), list({ openai: at(1) }), '2026-11-10')
  const said = judged(
    changed.text,
    list({ openai: at(1), azure: [{ prices: at(2) }, from('2026-12-05', 1)] }),
    '2026-12-01',
  )
  expect(said.held).toEqual([])
  expect([
    priced(said.text, 'azure-openai', '2026-12-04'),
    priced(said.text, 'azure-openai', '2026-12-05'),
  ]).toEqual([2, 1])
  const accepted = acceptRows(
    { text: changed.text, knownSince: null },
    changed.held,
    Date.parse('2026-11-20'),
  )
  const own = judged(accepted.text, list({ openai: at(1), azure: at(1.5) }), '2026-12-01')
  expect(priced(own.text, 'azure-openai', '2027-01-01')).toBe(1.5)
})

test("days before the list was seen have the maker's days, and no price of the host's", () => {
  const dated = list({ openai: [{ prices: at(2) }, from('2026-07-30', 1)] })
  expect([priced(dated, 'openai', '2026-08-05', true), priced(dated, 'openai', '2026-07-01', true)]).toEqual([
    1, 2,
  ])
  expect(priced(dated, 'azure-openai', '2026-08-05', true)).toBe('unknown_day')
  expect(priced(dated, 'azure-openai', '2026-11-02', true)).toBe(1)
})

test("a maker's change of a tier is the maker's too, and a person accepts it with the price", () => {
  const tier = (dollars: number) => ({
    price_variants: [{ when: { service_tier: 'priority' }, prices: at(dollars) }],
  })
  const azure = (text: string, day: string, of: string | null) => priced(text, 'azure-openai', day, false, of)
  const changed = judged(list({ openai: at(2) }, tier(4)), list({ openai: at(1) }, tier(3)), '2026-11-10')
  expect(priced(changed.text, 'openai', '2026-11-11', false, 'priority')).toBe(3)
  expect(azure(changed.text, '2026-11-11', 'priority')).toBe(4)
  const accepted = acceptRows(
    { text: changed.text, knownSince: '2026-11-01' },
    changed.held,
    Date.parse('2026-11-20T12:00:00Z'),
  )
  expect([
    azure(accepted.text, '2026-11-20', 'priority'),
    azure(accepted.text, '2026-11-21', 'priority'),
  ]).toEqual([4, 3])
  // Of the tier alone, it waits as well.
  const later = judged(accepted.text, list({ openai: at(1) }, tier(2)), '2026-11-25')
  expect(later.held).toMatchObject([
    { provider: 'azure', model: 'm', why: expect.stringContaining('its prices at priority') },
    { model: 'other' },
  ])
  expect(azure(later.text, '2026-12-10', 'priority')).toBe(3)
  const again = acceptRows({ text: later.text }, later.held, Date.parse('2026-12-10T12:00:00Z'))
  expect([10, 11].map((day) => azure(again.text, `2026-12-${day}`, 'priority'))).toEqual([3, 2])
  expect(judged(again.text, list({ openai: at(1) }, tier(2)), '2026-12-20')).toEqual({
    text: again.text,
    held: [],
  })
})

test('a new tier of a maker is the tier of its hosts too, and nothing waits', () => {
  const newTier = {
    price_variants: [
      { when: { service_tier: 'priority' }, constraint: { start_date: '2026-11-20' }, prices: at(4) },
    ],
  }
  const { text, held } = judged(list({ openai: at(2) }), list({ openai: at(2) }, newTier), '2026-11-10')
  expect(held).toEqual([])
  const days = ['2026-11-19', '2026-11-20', '2026-12-20']
  const own = days.map((day) => priced(text, 'openai', day, false, 'priority'))
  expect(own.slice(1)).toEqual([4, 4])
  expect(days.map((day) => priced(text, 'azure-openai', day, false, 'priority')).slice(1)).toEqual([4, 4])
})
