/**
 * What pricing costs the hot path: nanoseconds for one call, from names and counts to cost and price identity.
 * Method: each case runs in rounds of `BATCH` calls for at least `CASE_MS`; the median round is printed. The catalog's
 * answers are cached, as they are from the second call of a model and day on, except in the last two cases.
 */

import { NO_UNITS, NO_USAGE } from '../src/call/usage.ts'
import { buildCatalog } from '../src/pricing/catalog/catalog.ts'
import type { CallToPrice } from '../src/pricing/catalog/catalog-call.ts'
import { isLinear } from '../src/pricing/price.ts'
import { costOf } from '../src/pricing/price-cost.ts'
import { parseMarkups } from '../src/pricing/price-markups.ts'

const BATCH = 2_000
const CASE_MS = 300

/** The median of the rounds, in nanoseconds a call. */
function nanosecondsOf(run: (index: number) => unknown): number {
  const rounds: number[] = []
  const until = performance.now() + CASE_MS
  let sink: unknown = null
  while (performance.now() < until || rounds.length < 5) {
    const start = process.hrtime.bigint()
    for (let index = 0; index < BATCH; index++) sink = run(index)
    rounds.push(Number(process.hrtime.bigint() - start) / BATCH)
  }
  if (sink === undefined) throw new Error('nothing was priced')
  return rounds.sort((a, b) => a - b)[Math.floor(rounds.length / 2)] ?? Number.NaN
}

const GPT_4O: CallToPrice = {
  provider: 'openai',
  upstream: 'openai',
  clientName: 'acme',
  model: 'gpt-4o-2024-08-06',
  requestedModel: 'gpt-4o',
  usage: { ...NO_USAGE, inputTokens: 12_345, cacheReadTokens: 10_000, outputTokens: 678 },
  units: NO_UNITS,
  serviceTier: 'default',
  arrivedAtMs: Date.parse('2026-11-20T12:00:00Z'),
  reportedCostPico: null,
  parts: null,
}

const CLAUDE: CallToPrice = {
  ...GPT_4O,
  provider: 'anthropic',
  upstream: 'anthropic',
  model: 'claude-sonnet-4-6',
  requestedModel: 'claude-sonnet-4-6',
  serviceTier: 'standard',
  usage: {
    ...NO_USAGE,
    inputTokens: 150_000,
    cacheReadTokens: 100_000,
    cacheWriteTokens: 40_000,
    cacheWrite5mTokens: 30_000,
    cacheWrite1hTokens: 10_000,
    outputTokens: 4_000,
  },
}

/** A name as it comes from a parsed body: a string of its own, never seen before. */
function fresh(name: string): string {
  return JSON.parse(`"${name}"`) as string
}

const startMs = performance.now()
const catalog = buildCatalog()
const buildMs = performance.now() - startMs
const { markups } = parseMarkups([{ line: 1, client: 'acme', factor: '1.2' }], [])
const withMarkup = buildCatalog({ markups })
const answer = catalog.priceCall(CLAUDE)
if (answer.kind !== 'priced' || !isLinear(answer.price)) throw new Error('no price')
const { price } = answer
const fileDay = Date.parse('2026-01-01T00:00:00Z')

const cases: readonly (readonly [string, (index: number) => unknown])[] = [
  ['gpt-4o: look-up and cost', () => catalog.priceCall(GPT_4O)],
  [
    'gpt-4o, its names fresh from a body',
    () =>
      catalog.priceCall({ ...GPT_4O, model: fresh('gpt-4o-2024-08-06'), requestedModel: fresh('gpt-4o') }),
  ],
  [
    '  of that, making the names',
    () => ({ ...GPT_4O, model: fresh('gpt-4o-2024-08-06'), requestedModel: fresh('gpt-4o') }),
  ],
  ['claude, six classes', () => catalog.priceCall(CLAUDE)],
  ['claude, a client with a markup', () => withMarkup.priceCall(CLAUDE)],
  [
    'no price (cached too)',
    () => catalog.priceCall({ ...GPT_4O, model: 'gpt-99', requestedModel: 'gpt-99' }),
  ],
  ['cost alone', () => costOf(price, CLAUDE.usage, NO_UNITS)],
  [
    'first call of a day',
    (index) => catalog.priceCall({ ...GPT_4O, arrivedAtMs: fileDay + index * 86_400_000 }),
  ],
  [
    'an unknown name, tried at seven makers',
    (index) =>
      catalog.priceCall({ ...GPT_4O, provider: 'openai-compatible', model: `m-${index}-${Math.random()}` }),
  ],
]

console.log(`catalog built in ${buildMs.toFixed(0)} ms; node ${process.version}`)
for (const [name, run] of cases) console.log(`${nanosecondsOf(run).toFixed(0).padStart(8)} ns  ${name}`)
