import { expect, test } from 'vitest'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import { judgeRefresh } from '../../src/pricing/history/catalog-refresh.ts'
import { parseOverrides } from '../../src/pricing/overrides/price-overrides-parse.ts'
import { parseMarkups } from '../../src/pricing/price-markups.ts'
import { repriceCall } from '../../src/pricing/repricing/repricing.ts'
import { catalogOfText } from '../../src/pricing/sources/catalog-file.ts'
import { mergedText, mergeSources } from '../../src/pricing/sources/catalog-sources.ts'

const SEEN = '2026-11-01'

interface Written {
  readonly id: string
  readonly prices: object
}

/** A list of openai's, first seen on {@link SEEN}. */
function list(...models: readonly Written[]): string {
  return JSON.stringify([
    {
      id: 'openai',
      known_since: SEEN,
      models: models.map(({ id, prices }) => ({ id, match: { equals: id }, prices })),
    },
  ])
}

const at = (dollars: number) => ({ input_mtok: dollars, output_mtok: 4 * dollars })
const from = (day: string, dollars: number) => ({ constraint: { start_date: day }, prices: at(dollars) })

/** US dollars for a million tokens of input, or why there is no price. */
function priced(text: string, model: string, day: string, isPast = true) {
  const catalog = buildCatalog({ entries: catalogOfText('test', text) })
  const answer = (isPast ? catalog.ofPast() : catalog).priceCall(callOf(model, day))
  return answer.kind === 'priced' ? Number(answer.costPico) / 1e12 : answer.reason
}

function callOf(model: string, day: string) {
  return {
    provider: 'openai',
    upstream: 'openai',
    clientName: null,
    model,
    requestedModel: model,
    usage: { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 0 },
    units: NO_UNITS,
    serviceTier: null,
    arrivedAtMs: Date.parse(`${day}T12:00:00Z`),
    reportedCostPico: null,
    parts: null,
  }
}

test("a price without a day holds since it was first seen, and is no earlier day's", () => {
  const text = list({ id: 'm', prices: at(1) })
  expect(priced(text, 'm', SEEN)).toBe(1)
  expect(priced(text, 'm', '2027-01-01')).toBe(1)
  expect(priced(text, 'm', '2026-10-31')).toBe('unknown_day')
  // A call that comes in is priced at what is known now.
  expect(priced(text, 'm', '2026-10-31', false)).toBe(1)
})

test('days that the source names hold for the past, and so does what was before them', () => {
  const text = list(
    { id: 'm', prices: [{ prices: at(2) }, from('2026-08-20', 1)] },
    { id: 'begun', prices: [from('2026-08-20', 1)] },
  )
  expect(priced(text, 'm', '2026-08-20')).toBe(1)
  expect(priced(text, 'm', '2026-08-19')).toBe(2)
  expect(priced(text, 'begun', '2026-08-20')).toBe(1)
  expect(priced(text, 'begun', '2026-08-19')).toBe('unknown_day')
})

test('a refresh remembers when each price was first seen, whatever came since', () => {
  const judged = (before: string, after: string, day: string) => {
    const nowMs = Date.parse(`${day}T12:00:00Z`)
    const result = judgeRefresh({ text: before, dataDay: null }, after, { nowMs, acceptAll: true })
    if (result.kind !== 'read') throw new Error(result.problems.join())
    return result.text ?? before
  }
  const fetched = (...models: readonly Written[]) => list(...models).replace(`"known_since":"${SEEN}",`, '')
  const once = judged(list({ id: 'm', prices: at(1) }), fetched({ id: 'm', prices: at(2) }), '2026-11-10')
  const twice = judged(once, fetched({ id: 'm', prices: at(2) }, { id: 'new', prices: at(5) }), '2026-12-01')
  expect(priced(twice, 'm', '2026-11-11')).toBe(2)
  expect(priced(twice, 'm', '2026-11-10')).toBe(1)
  expect(priced(twice, 'm', '2026-10-31')).toBe('unknown_day')
  expect([priced(twice, 'new', '2026-12-01'), priced(twice, 'new', '2026-11-30')]).toEqual([5, 'unknown_day'])
  // Nothing new: the same text, so that nothing is put.
  expect(judged(twice, fetched({ id: 'm', prices: at(2) }, { id: 'new', prices: at(5) }), '2026-12-02')).toBe(
    twice,
  )
})

test('what the release brings is known since the day of each list, also when it is read again from its text', () => {
  for (const entries of [mergeSources(), catalogOfText('again', mergedText())]) {
    const past = buildCatalog({ entries }).ofPast()
    expect(past.priceCall(callOf('gpt-4o', '2026-11-25'))).toMatchObject({ kind: 'priced' })
    expect(past.priceCall(callOf('gpt-4o', '2026-03-04'))).toMatchObject({ reason: 'unknown_day' })
    // genai-prices names the day.
    expect(past.priceCall(callOf('o3', '2026-03-04'))).toMatchObject({ kind: 'priced' })
  }
})

test('a price of your own without a day holds for every day', () => {
  const { overrides } = parseOverrides([{ model: 'm', input: '3', output: '9', line: 1 }], [])
  const catalog = buildCatalog({
    entries: catalogOfText('test', list({ id: 'm', prices: at(1) })),
    overrides,
  })
  expect(catalog.ofPast().priceCall(callOf('m', '2020-01-01'))).toMatchObject({
    costPico: 3_000_000_000_000n,
  })
})

test('a call of a day without a known price stays as it is when it is repriced', () => {
  const catalog = buildCatalog({ entries: catalogOfText('test', list({ id: 'm', prices: at(1) })) })
  const past = {
    ...callOf('m', '2026-10-31'),
    reportedModel: 'm',
    usageSource: 'reported' as const,
    usageRaw: null,
    costPico: null,
    priceId: null,
  }
  expect(repriceCall(catalog, past, null)).toEqual({ kind: 'unknown_day' })
  expect(repriceCall(catalog, { ...past, arrivedAtMs: Date.parse(SEEN) }, null)).toMatchObject({
    kind: 'cost',
    wasUnpriced: true,
  })
})

test('a call that was at the list price proves that it held on its day, so that a markup can be put right', () => {
  const entries = catalogOfText('test', list({ id: 'm', prices: at(1) }))
  const cost = (dollars: number, factor: string) => {
    const then = buildCatalog({ entries: catalogOfText('test', list({ id: 'm', prices: at(dollars) })) })
    const { markups } = parseMarkups([{ upstream: 'openai', factor, line: 1 }], ['openai'])
    const metered = then.priceCall(callOf('m', '2026-10-31'))
    if (metered.kind !== 'priced') throw new Error(metered.reason)
    const { costPico, priceId, price } = metered
    const kept = { reportedModel: 'm', usageSource: 'reported' as const, usageRaw: null, costPico, priceId }
    return repriceCall(buildCatalog({ entries, markups }), { ...callOf('m', '2026-10-31'), ...kept }, price)
  }
  expect(cost(1, '1.2')).toMatchObject({ kind: 'cost', costPico: 1_200_000_000_000n })
  expect(cost(2, '1.2')).toEqual({ kind: 'unknown_day' })
})
