// @seconds: tens of thousands of calls are priced twice
import { calcPrice, type Provider } from '@pydantic/genai-prices'
import { beforeAll, expect, test } from 'vitest'
import { bundledText } from '#prices/bundled-lists.ts'
import { BILLED_UNITS, NO_UNITS, TOKEN_CLASSES, type TokenUsage } from '../../src/call/usage.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import { isPlaceless } from '../../src/pricing/places/usual-names.ts'
import { isLinear, type LinearPrice } from '../../src/pricing/price.ts'
import { componentsOf } from '../../src/pricing/price-components.ts'
import { costOfSums, sumsOfCall, type UsageSums } from '../../src/pricing/price-cost.ts'
import { parseMarkups } from '../../src/pricing/price-markups.ts'
import { bundledEntries } from '../../src/pricing/sources/catalog-bundle.ts'
import { rounds } from '../support/rounds.ts'
import {
  type Deal,
  type Heap,
  LIST_PRICES,
  namedModels,
  type OracleModel,
  oracleCost,
  oracleModel,
  SORTS,
} from './price-oracle.ts'

const CALLS = rounds({ short: 2_000, long: 1_000_000 })
/** Their calculator is slow. */
const COMPARED = rounds({ short: 1_500, long: 20_000 })

/** Ours, and the catalog's: providers whose models have their names in the catalog as they come. */
const PROVIDERS = {
  openai: 'openai',
  anthropic: 'anthropic',
  gemini: 'google',
  vertex: 'google',
  bedrock: 'aws',
  'azure-openai': 'azure',
  xai: 'x-ai',
  openrouter: 'openrouter',
  mistral: 'mistral',
  groq: 'groq',
  deepseek: 'deepseek',
  cohere: 'cohere',
  perplexity: 'perplexity',
  together: 'together',
  fireworks: 'fireworks',
  cerebras: 'cerebras',
  cloudflare: 'cloudflare',
  moonshotai: 'moonshotai',
  zai: 'zai',
  voyageai: 'voyageai',
}

interface Subject {
  readonly provider: string
  readonly name: string
  readonly oracle: OracleModel
}

let data: Provider[] = []
let subjects: Subject[] = []

beforeAll(() => {
  data = JSON.parse(bundledText())
  subjects = Object.entries(PROVIDERS).flatMap(([provider, id]) => {
    const entry = data.find((candidate) => candidate.id === id)
    if (entry === undefined) throw new Error(`the catalog has no ${id}`)
    return (
      namedModels(entry)
        .filter(({ name }) => !(provider === 'vertex' && name.includes('/')))
        // Others are sold at their makers' prices there.
        .filter(({ name }) => provider !== 'cloudflare' || name.startsWith('@cf/'))
        // What says no place has the price of another name; test/pricing/places.test.ts holds that.
        .filter(({ name }) => !isPlaceless({ providerId: id, name }))
        // This source gives GovCloud any region's price, which is not taken; test/pricing/catalog/catalog-merge.test.ts holds that.
        .filter(({ name }) => !name.startsWith('us-gov.'))
        // Their pictures have a price of their own, which this source lacks; test/gateway/limits/call-estimates.test.ts holds that.
        .filter(({ name }) => provider !== 'openrouter' || !name.includes('-image'))
        .map(({ name, model }) => ({ provider, name, oracle: oracleModel(provider, id, model) }))
        .filter(({ oracle }) => hasPrice(oracle))
    )
  })
})

function hasKey({ model }: OracleModel, ...keys: readonly string[]): boolean {
  const dated = Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }]
  return dated.every(({ prices }) => keys.some((key) => prices[key] !== undefined))
}

function hasPrice(oracle: OracleModel): boolean {
  return hasKey(oracle, 'input_mtok', 'input_document_kpages', 'audio_hours')
}

/** Deterministic numbers from 0 up to 1 (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Days on both sides of every change of price in the catalog's history, and an hour in each window of a day. */
const DAYS = [
  '2024-06-01',
  '2025-05-21',
  '2025-05-22',
  '2025-06-09',
  '2025-06-10',
  '2025-12-02',
  '2025-12-18',
  '2026-03-12',
  '2026-03-13',
  '2026-06-16',
  '2026-07-29',
  '2026-07-30',
  '2026-08-16',
  '2026-08-17',
  '2026-08-21',
  '2026-08-27',
  '2026-11-20',
  '2026-12-31',
  '2027-01-01',
]
const TIMES = ['00:00:00.000', '00:29:59.999', '00:30:00.000', '03:59:59.999', '07:00:00.000', '16:30:00.000']

function randomHeap(random: () => number, oracle: OracleModel): Heap {
  const some = (most: number) => Math.floor(most ** random()) - 1
  const heap: Heap = {
    plain: 1 + some(300_000),
    cached: random() < 0.5 ? some(300_000) : 0,
    written5m: random() < 0.2 ? some(50_000) : 0,
    written1h: random() < 0.2 ? some(50_000) : 0,
    audio: random() < 0.2 ? some(50_000) : 0,
    cachedAudio: random() < 0.1 ? some(50_000) : 0,
    image: random() < 0.1 ? some(50_000) : 0,
    answer: some(100_000),
    reasoning: random() < 0.3 ? some(50_000) : 0,
    spoken: random() < 0.1 ? some(20_000) : 0,
    drawn: random() < 0.1 ? some(20_000) : 0,
    webSearches: random() < 0.1 ? some(30) : 0,
    audioMs: random() < 0.1 ? some(3_600_000) : 0,
    pages: random() < 0.1 ? some(500) : 0,
  }
  if (!hasKey(oracle, 'input_mtok')) {
    // Billed by the page or the hour: without such a price for tokens there are none in its answers.
    for (const sort of SORTS) heap[sort] = 0
    heap.webSearches = 0
    heap.pages = hasKey(oracle, 'input_document_kpages') ? 1 + some(500) : 0
    heap.audioMs = hasKey(oracle, 'audio_hours') ? 1 + some(3_600_000) : 0
    return heap
  }
  const step = oracle.steps[Math.floor(random() * oracle.steps.length)]
  if (step !== undefined && random() < 0.3) {
    // On the last token of a tier, and on the first of the next.
    const others = heap.cached + heap.written5m + heap.written1h + heap.audio + heap.cachedAudio + heap.image
    heap.plain = Math.max(1, step + (random() < 0.5 ? 0 : 1) - others)
  }
  return heap
}

/** The heap as a provider counts it: wholes, and parts of them; what is 0 at times as 0, at times not at all. */
function usageOf(heap: Heap, random: () => number, isBeside: boolean): TokenUsage {
  const silent = random() < 0.5
  const part = (count: number) => (count === 0 && silent ? null : count)
  const output = heap.answer + heap.spoken + heap.drawn
  return {
    inputTokens:
      heap.plain + heap.cached + heap.written5m + heap.written1h + heap.audio + heap.cachedAudio + heap.image,
    outputTokens: part(isBeside ? output : output + heap.reasoning),
    cacheReadTokens: part(heap.cached + heap.cachedAudio),
    cacheWriteTokens: part(heap.written5m + heap.written1h),
    cacheWrite5mTokens: part(heap.written5m),
    cacheWrite1hTokens: part(heap.written1h),
    reasoningTokens: part(heap.reasoning),
    audioInputTokens: part(heap.audio + heap.cachedAudio),
    audioOutputTokens: part(heap.spoken),
    imageInputTokens: part(heap.image),
    imageOutputTokens: part(heap.drawn),
    cacheReadAudioTokens: part(heap.cachedAudio),
    cacheWrite12hTokens: null,
    cacheReadImageTokens: null,
    videoInputTokens: null,
  }
}

const MARKUP: Deal = { name: 'markup', all: [11_755n, 10_000n], tokens: [1n, 1n] }
/** Half price for tokens, as Anthropic documents. */
const BATCH: Deal = { name: 'batch', all: [1n, 1n], tokens: [1n, 2n] }

function randomDeal(random: () => number, provider: string): Deal {
  const draw = random()
  if (draw < 0.1) return MARKUP
  return draw < 0.3 && provider === 'anthropic' ? BATCH : LIST_PRICES
}

const COUNTED = [...TOKEN_CLASSES, ...BILLED_UNITS] as const

test(`${CALLS} random calls cost to the picodollar what the catalog says, alone, line by line, and in sum`, () => {
  const random = randomNumbers(20_261_120)
  const { markups } = parseMarkups([{ line: 1, client: 'marked', factor: '1.1755' }], [])
  // The oracle knows the first source alone.
  const catalog = buildCatalog({ entries: bundledEntries(), markups })
  const costs: bigint[] = []
  const priced = new Set<string>()
  const days = new Map<string, { price: LinearPrice; cost: bigint; requests: number; counts: Float64Array }>()
  const perDay = Math.ceil(CALLS / DAYS.length)
  let wrong = 0
  let firstWrong = ''
  let unexplained = 0
  for (let call = 0; call < CALLS; call++) {
    const subject = subjects[Math.floor(random() * subjects.length)]
    if (subject === undefined) throw new Error('no priced models')
    const day = DAYS[Math.floor(call / perDay)] ?? ''
    const time = TIMES[Math.floor(random() * TIMES.length)] ?? ''
    const atMs = Date.parse(`${day}T${time}Z`)
    const heap = randomHeap(random, subject.oracle)
    const deal = randomDeal(random, subject.provider)
    // Deep research counts its reasoning apart from its answer.
    const isBeside = subject.provider === 'perplexity' && hasKey(subject.oracle, 'output_reasoning_mtok')
    const usage = usageOf(heap, random, isBeside)
    const units = {
      ...NO_UNITS,
      webSearches: heap.webSearches,
      audioMs: heap.audioMs === 0 ? null : heap.audioMs,
      pages: heap.pages,
    }
    const ours = catalog.priceCall({
      provider: subject.provider,
      upstream: subject.provider,
      clientName: deal === MARKUP ? 'marked' : 'other',
      model: subject.name,
      requestedModel: null,
      usage,
      units,
      serviceTier: deal === BATCH ? 'batch' : null,
      arrivedAtMs: atMs,
      reportedCostPico: null,
      parts: null,
    })
    const theirs = oracleCost(subject.oracle, heap, atMs, deal)
    if (ours.kind !== 'priced' || ours.costPico !== theirs || !isLinear(ours.price)) {
      wrong++
      const shown = ours.kind === 'priced' ? `${ours.costPico} by ${ours.priceId}` : ours.reason
      firstWrong ||= `${subject.provider} ${subject.name} at ${day}T${time}: ${shown}, not ${theirs}: ${JSON.stringify(heap)}`
      continue
    }
    const lines = componentsOf(ours.price, sumsOfCall(usage, units))
    const sumOfLines = lines.reduce((sum, { amountPico }) => sum + amountPico, 0n)
    if (sumOfLines !== theirs || lines.some(({ quantity }) => quantity < 0n)) unexplained++
    costs.push(ours.costPico)
    priced.add(`${subject.provider}/${subject.oracle.model.id}`)
    let sums = days.get(ours.priceId)
    if (sums === undefined) {
      sums = { price: ours.price, cost: 0n, requests: 0, counts: new Float64Array(COUNTED.length) }
      days.set(ours.priceId, sums)
    }
    sums.cost += ours.costPico
    sums.requests++
    const counted: Readonly<Record<string, number | null>> = { ...usage, ...units }
    for (const [index, name] of COUNTED.entries()) {
      sums.counts[index] = (sums.counts[index] ?? 0) + (counted[name] ?? 0)
    }
  }
  expect({ wrong, firstWrong, unexplained }).toEqual({ wrong: 0, firstWrong: '', unexplained: 0 })
  expect(priced.size).toBeGreaterThanOrEqual(200)

  // The sums of a day, priced once, cost what its calls did.
  for (const { price, cost, requests, counts } of days.values()) {
    const sums = Object.fromEntries([
      ['requests', BigInt(requests)],
      ...COUNTED.map((name, index) => [name, BigInt(counts[index] ?? 0)]),
    ]) as UsageSums
    expect(costOfSums(price, sums)).toBe(cost)
  }

  // In any order.
  const forward = costs.reduce((sum, cost) => sum + cost, 0n)
  const backward = costs.reduceRight((sum, cost) => sum + cost, 0n)
  const byPrice = [...days.values()].reduce((sum, { cost }) => sum + cost, 0n)
  const bySize = costs.toSorted((a, b) => Number(a - b)).reduce((sum, cost) => sum + cost, 0n)
  expect([backward, byPrice, bySize]).toEqual([forward, forward, forward])
  console.log(
    `${CALLS} calls, ${priced.size} models, ${days.size} prices, sum ${forward} pico-USD: all equal`,
  )
})

/** A third of a pico-dollar on the cheapest price that is not whole, 83,333.33 a token. */
const ROUNDING = 1e-5

test("genai-prices' own calculator agrees within what doubles can hold", () => {
  const random = randomNumbers(7)
  const catalog = buildCatalog({ entries: bundledEntries() })
  // It has no fee for the search that each of these models' requests is.
  const known = subjects.filter(({ oracle }) => !/-search-(?:preview|api)$/.test(oracle.model.id))
  let compared = 0
  for (let call = 0; call < COMPARED; call++) {
    const subject = known[Math.floor(random() * known.length)]
    const provider = data.find(({ id }) => id === subject?.oracle.providerId)
    if (subject === undefined || provider === undefined) throw new Error('no priced models')
    const heap = randomHeap(random, subject.oracle)
    // It wants every overlap spelled out, which our counts do not have for images, and prices per second of audio.
    // Nor has it what is added to its data.
    const simple = { ...heap, image: 0, drawn: 0, audioMs: 0, reasoning: 0, written1h: 0, webSearches: 0 }
    const atMs = Date.parse('2026-11-20T05:00:00Z')
    const usage = usageOf(simple, () => 0, false)
    const units = { ...NO_UNITS, webSearches: simple.webSearches, pages: simple.pages }
    const theirs = calcPrice(
      {
        input_tokens: usage.inputTokens ?? 0,
        output_tokens: usage.outputTokens ?? 0,
        cache_read_tokens: usage.cacheReadTokens ?? 0,
        cache_write_tokens: usage.cacheWriteTokens ?? 0,
        cache_write_1h_tokens: usage.cacheWrite1hTokens ?? 0,
        input_audio_tokens: usage.audioInputTokens ?? 0,
        output_audio_tokens: usage.audioOutputTokens ?? 0,
        cache_audio_read_tokens: usage.cacheReadAudioTokens ?? 0,
        input_image_tokens: 0,
        cache_image_read_tokens: 0,
        output_image_tokens: 0,
        web_searches: simple.webSearches,
        input_document_pages: simple.pages,
      },
      subject.name,
      { provider, timestamp: new Date(atMs) },
    )
    const ours = catalog.priceCall({
      provider: subject.provider,
      upstream: subject.provider,
      clientName: null,
      model: subject.name,
      requestedModel: null,
      usage,
      units,
      serviceTier: null,
      arrivedAtMs: atMs,
      reportedCostPico: null,
      parts: null,
    })
    if (theirs === null || ours.kind !== 'priced')
      throw new Error(`${subject.provider} ${subject.name}: no price`)
    expect(theirs.model.id, subject.name).toBe(subject.oracle.model.id)
    const difference = Math.abs(Number(ours.costPico) / 1e12 - theirs.total_price)
    expect(difference, `${subject.provider} ${subject.name}`).toBeLessThanOrEqual(
      theirs.total_price * ROUNDING,
    )
    compared++
  }
  expect(compared).toBe(COMPARED)
})

test('every sort of token appears in the random calls, so that each price is really held against the oracle', () => {
  const random = randomNumbers(1)
  const [{ oracle } = { oracle: null }] = subjects
  if (oracle === null) throw new Error('no priced models')
  const heaps = Array.from({ length: 200 }, () => randomHeap(random, oracle))
  for (const sort of SORTS)
    expect(
      heaps.some((heap) => heap[sort] > 0),
      sort,
    ).toBe(true)
})
