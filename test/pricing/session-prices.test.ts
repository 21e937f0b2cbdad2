import { expect, test } from 'vitest'
import type { UsagePart } from '../../src/call/observation.ts'
import { type BilledUnits, NO_UNITS, NO_USAGE, type TokenUsage } from '../../src/call/usage.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import { isPartly } from '../../src/pricing/price.ts'
import { parsePrice } from '../../src/pricing/price-parse.ts'
import { sumUsage } from '../../src/providers/reading/counts.ts'

const catalog = buildCatalog()

interface Asked {
  readonly model?: string | null
  readonly requestedModel?: string | null
  readonly units?: Partial<BilledUnits>
  /** The call's own tokens; left out: those of all parts. */
  readonly usage?: TokenUsage
}

function priceOf(parts: readonly UsagePart[], { model = 'gpt-realtime', ...asked }: Asked = {}) {
  return catalog.priceCall({
    provider: 'openai',
    upstream: 'up',
    clientName: null,
    model,
    requestedModel: asked.requestedModel ?? null,
    usage: asked.usage ?? sumUsage(parts.map(({ usage }) => usage)),
    units: { ...NO_UNITS, ...asked.units },
    serviceTier: null,
    arrivedAtMs: Date.parse('2026-11-22T12:00:00Z'),
    reportedCostPico: null,
    parts,
  })
}

/** Cost in pico-USD, and the classes that have no price. */
function said(...asked: Parameters<typeof priceOf>): string {
  const answer = priceOf(...asked)
  if (answer.kind === 'unpriced') return answer.reason
  expect(parsePrice(answer.price.json)).toEqual(answer.price)
  const { definition } = answer.price
  const gaps = 'unpriced' in definition && isPartly(answer.price) ? ` ${definition.unpriced}` : ''
  return `${answer.costPico}${gaps}`
}

function part(model: string | null, usage: Partial<TokenUsage>, more: Partial<UsagePart> = {}): UsagePart {
  return { model, usage: { ...NO_USAGE, ...usage }, ...more }
}

/** 10 at $4 and 10 at $16 a million. */
const OWN = part('gpt-realtime', { inputTokens: 10, outputTokens: 10 })
const BESIDE = { isBeside: true } as const
const HEARD = { inputTokens: 10_000, outputTokens: 2_000, audioInputTokens: 10_000 }

test('what is transcribed in a session costs what its own model costs, in tokens or in seconds', () => {
  expect(said([OWN])).toBe('200000000')
  expect(said([OWN, part('gpt-4o-transcribe', HEARD, BESIDE)])).toBe('80200000000')
  const seconds = { ...BESIDE, units: { ...NO_UNITS, audioMs: 60_000 } }
  const units = { audioMs: 60_000 }
  expect(said([OWN, part('whisper-1', {}, seconds)], { units })).toBe('6200000000')
  expect(said([part('whisper-1', {}, seconds)], { units })).toBe('6000000000')
})

test('units that belong to no part are of the model that answers', () => {
  const seconds = { ...BESIDE, units: { ...NO_UNITS, audioMs: 60_000 } }
  const units = { audioMs: 60_000, webSearches: 1 }
  expect(said([OWN, part('whisper-1', {}, seconds)], { units })).toMatch(
    /^6200000000 webSearch$|^16200000000$/,
  )
})

test('a part beside a session’s model that has no price is a gap, the session’s own is none', () => {
  expect(said([OWN, part('made-1', HEARD, BESIDE)])).toBe('200000000 audioInput,input,output')
  expect(said([OWN, part('made-1', HEARD)])).toBe('no_price')
  expect(said([part('gpt-4o-transcribe', HEARD, BESIDE), part('made-1', {})], { model: 'made-1' })).toBe(
    '80000000000',
  )
  expect(said([part('gpt-4o-transcribe', HEARD, BESIDE), part('made-1', HEARD)], { model: 'made-1' })).toBe(
    'no_price',
  )
  expect(said([part('made-1', HEARD, BESIDE)])).toBe('no_price')
})

test('what could not be read is a gap', () => {
  expect(said([OWN, part('gpt-realtime', {}, { isUnread: true })])).toBe('200000000 input,output')
})

test('a part of the call’s own model is priced as the call is, by the requested name where that has the price', () => {
  const own = part(null, { inputTokens: 10, outputTokens: 10 })
  const unread = part(null, {}, { isUnread: true })
  const requested = { model: null, requestedModel: 'gpt-realtime' }
  expect(said([own, unread], requested)).toBe('200000000 input,output')
  expect(said([own, unread], { model: 'gpt-realtime' })).toBe('200000000 input,output')
})

test('a part that is not in the tokens of the call has its cost in the call, and the price of the parts', () => {
  const parts = [OWN, { ...OWN, ...BESIDE }]
  const answer = priceOf(parts, { usage: OWN.usage })
  expect(answer).toMatchObject({ costPico: 400_000_000n, price: { definition: { basis: 'parts' } } })
  expect(priceOf(parts)).toMatchObject({
    costPico: 400_000_000n,
    price: { definition: { basis: 'linear' } },
  })
})

test('what a part used without a rate is a gap of the whole call', () => {
  const heard = part('gpt-5', { inputTokens: 10, audioInputTokens: 5, outputTokens: 1 }, BESIDE)
  expect(said([OWN, heard])).toMatch(/^[0-9]+ audioInput$/)
})

test('a tool that ran for a model without a price leaves a call unpriced whose parts used nothing', () => {
  const nothing = part('made-up', {})
  expect(said([nothing], { model: 'made-up' })).toBe('nothing_used')
  expect(said([nothing], { model: 'made-up', units: { webSearches: 1 } })).toBe('no_price')
})
