import { expect, test } from 'vitest'
import { NO_UNITS, NO_USAGE, type TokenUsage } from '../../src/call/usage.ts'
import { addDays } from '../../src/domain/utc-day.ts'
import { type Contract, Contracts } from '../../src/pricing/contracts/contract.ts'
import { addCosts, NO_COSTS, type OperatorCosts } from '../../src/pricing/contracts/three-costs.ts'
import { buildLinearPrice, type LinearPrice } from '../../src/pricing/price.ts'
import { costOf, costOfSums, sumsOfCall, type UsageSums } from '../../src/pricing/price-cost.ts'
import type { LinearDefinition } from '../../src/pricing/price-definition.ts'
import { RATE_CLASSES, type Rates } from '../../src/pricing/price-rates.ts'
import {
  costsOfRepricing,
  costsOfUse,
  ListedSums,
  linesFrom,
  storedLines,
} from '../../src/usage/costs/operator-costs.ts'
import { rounds } from '../support/rounds.ts'

/** Repeatable numbers from 0 up to below 1 (mulberry32). */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const MODELS = ['gpt-4o', 'gpt-4o-mini', 'claude-opus', 'llama']
const UPSTREAMS = ['openai', 'azure', 'own']
const FIRST = '2026-01-01'
/** Hundredths, so that the naive model multiplies integers. */
const MARKUPS = [100n, 120n, 200n, 93n]

interface MadePrice {
  readonly list: Rates
  readonly markup: bigint
  readonly price: LinearPrice
}

function priceOf(next: () => number): MadePrice {
  const named = RATE_CLASSES.filter((name) => name === 'input' || name === 'output' || next() < 0.3)
  // Whole hundreds, so that a markup leaves whole pico-dollars and the list price follows from it.
  const list = Object.fromEntries(named.map((name) => [name, BigInt(Math.floor(next() * 90_000)) * 100n]))
  const markup = MARKUPS[Math.floor(next() * MARKUPS.length)] ?? 100n
  const definition: LinearDefinition = {
    ...{ basis: 'linear', source: 'yaml', provider: 'openai', model: `m${next()}`, from: null, hours: null },
    ...{ serviceTierPriced: true, factor: `${Number(markup) / 100}`, variant: null },
    serviceTier: next() < 0.3 ? 'batch' : null,
    context: next() < 0.3 ? { above: 200_000, upTo: null } : null,
    rates: Object.fromEntries(Object.entries(list).map(([name, rate]) => [name, (rate * markup) / 100n])),
  }
  return { list, markup, price: buildLinearPrice(definition) }
}

function contractOf(next: () => number): Contract {
  const model = ['gpt-4o', 'gpt-4o*', 'gpt*', null][Math.floor(next() * 4)] ?? null
  return {
    id: '',
    model,
    upstream: next() < 0.5 ? null : (UPSTREAMS[Math.floor(next() * 3)] ?? null),
    serviceTier: next() < 0.2 ? 'batch' : null,
    from: addDays(FIRST, Math.floor(next() * 20)),
    factor: ['1', '0.93', '0.5', '0.123'][Math.floor(next() * 4)] ?? '1',
    prices: next() < 0.4 && model !== null ? { input: '2.5', cached_input: '0.000001', output: '7' } : {},
  }
}

interface Call {
  readonly day: string
  readonly model: string
  readonly upstream: string
  readonly usage: TokenUsage
  readonly made: MadePrice
}

/** What a person would do with a list of contracts and a call. */
function naive(contracts: readonly Contract[], { day, model, upstream, usage, made }: Call): OperatorCosts {
  const { serviceTier, context } = made.price.definition
  let best: Contract | null = null
  const rank = (one: Contract): string =>
    [
      `${(one.model ?? '*').endsWith('*') ? (one.model ?? '*').length : 999}`.padStart(3, '0'),
      one.upstream === null ? 0 : 1,
      one.serviceTier === null ? 0 : 1,
      one.from,
    ].join()
  for (const one of contracts) {
    const name = one.model ?? '*'
    const isModel = name.endsWith('*') ? model.startsWith(name.slice(0, -1)) : model === name
    if (!isModel || one.from > day || (one.upstream ?? upstream) !== upstream) continue
    if (one.serviceTier !== null && one.serviceTier !== serviceTier) continue
    if (best === null || rank(one) > rank(best)) best = one
  }
  const thousandths = BigInt(Math.round(Number(best?.factor ?? '1') * 1_000))
  const hasPrices = best !== null && best.serviceTier === serviceTier && context === null
  const own: Partial<Record<string, bigint>> =
    hasPrices && 'input' in (best?.prices ?? {})
      ? { input: 2_500_000n, cacheRead: 1n, output: 7_000_000n }
      : {}
  const contracted = Object.fromEntries(
    Object.entries(made.list).map(([name, rate]) => [
      name,
      own[name] ?? ((rate ?? 0n) * thousandths * 2n + 1_000n) / 2_000n,
    ]),
  )
  const at = (rates: Rates) => costOf(buildLinearPrice({ ...made.price.definition, rates }), usage, NO_UNITS)
  return { listPico: at(made.list), contractedPico: at(contracted) }
}

function addSums(one: UsageSums | undefined, other: UsageSums): UsageSums {
  const sums = Object.entries(other).map(([name, count]) => [
    name,
    count + (one?.[name as keyof UsageSums] ?? 0n),
  ])
  return Object.fromEntries(sums)
}

/** Rows of totals, which is all that is left when single calls are gone. */
function rowsOf(calls: readonly Call[]) {
  const rows = new Map<string, { readonly call: Call; readonly calls: Call[]; sums: UsageSums }>()
  for (const call of calls) {
    const key = [call.day, call.model, call.upstream, call.made.price.id].join()
    const row = rows.get(key) ?? { call, calls: [], sums: {} as UsageSums }
    rows.set(key, row)
    row.calls.push(call)
    row.sums = addSums(row.sums, sumsOfCall(call.usage, NO_UNITS))
  }
  return [...rows.values()]
}

test('list and contracted costs of rows are those of their calls, and repricings do to both what they do to calls', () => {
  for (let seed = 1; seed <= rounds({ short: 4, long: 12 }); seed += 1) {
    const next = random(seed)
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(next() * items.length)] as Item
    const prices = Array.from({ length: 6 }, () => priceOf(next))
    const written = Array.from({ length: Math.floor(next() * 12) }, () => contractOf(next))
    const contracts = new Contracts(written)
    const calls = Array.from({ length: 200 }, (): Call => {
      const inputTokens = Math.floor(next() * 5_000)
      return {
        ...{ day: addDays(FIRST, Math.floor(next() * 25)), model: pick(MODELS), upstream: pick(UPSTREAMS) },
        usage: {
          ...NO_USAGE,
          inputTokens,
          cacheReadTokens: Math.floor((next() * inputTokens) / 2),
          outputTokens: Math.floor(next() * 900),
        },
        made: pick(prices),
      }
    })
    for (const { call, calls: ofRow, sums } of rowsOf(calls)) {
      const { price } = call.made
      const costPico = costOfSums(price, sums)
      const terms = contracts.termsOf({ ...call, price: price.definition })
      const expected = ofRow.map((one) => naive(written, one)).reduce(addCosts, NO_COSTS)
      const before = costsOfUse({ costPico, sums, price }, new Map(), terms)
      expect(before).toEqual(expected)

      // Another price at the same tier and size, which some of its calls get.
      const { serviceTier, context } = price.definition
      const other = prices.find(
        ({ price: { definition } }) =>
          definition !== price.definition &&
          definition.serviceTier === serviceTier &&
          (definition.context === null) === (context === null),
      )
      if (other === undefined) continue
      const lines = new ListedSums()
      let pico = 0n
      const repriced = ofRow.map((one, index): Call => {
        if (index % 2 === 1) return one
        const own = sumsOfCall(one.usage, NO_UNITS)
        const [was, now] = [costOfSums(price, own), costOfSums(other.price, own)]
        lines.replace({ costPico: was, sums: own, price }, { costPico: now, sums: own, price: other.price })
        pico += now - was
        return { ...one, made: other }
      })
      const stored = linesFrom(JSON.parse(JSON.stringify(storedLines(lines.lines()))))
      const after = addCosts(before, costsOfRepricing({ pico, lines: stored }, price, new Map(), terms))
      expect(after).toEqual(repriced.map((one) => naive(written, one)).reduce(addCosts, NO_COSTS))
    }
  }
})

test('a markup that changes leaves what the operator pays', () => {
  const rates = { input: 1_000_000n, output: 3_000_000n }
  const at = (factor: string, times: bigint) =>
    buildLinearPrice({
      ...{ basis: 'linear', source: 'yaml', provider: 'openai', model: 'm', from: null, context: null },
      ...{ hours: null, serviceTier: null, serviceTierPriced: true, factor, variant: null },
      rates: { input: (rates.input * times) / 10n, output: (rates.output * times) / 10n },
    })
  const sums = sumsOfCall({ ...NO_USAGE, inputTokens: 7, outputTokens: 3 }, NO_UNITS)
  const [before, after] = [at('1.2', 12n), at('1.5', 15n)]
  const lines = new ListedSums()
  lines.replace(
    { costPico: costOfSums(before, sums), sums, price: before },
    { costPico: costOfSums(after, sums), sums, price: after },
  )
  expect(lines.lines()).toEqual([])
})
