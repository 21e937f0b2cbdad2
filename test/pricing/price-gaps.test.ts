import { expect, test } from 'vitest'
import { type BilledUnits, NO_UNITS, NO_USAGE, type TokenUsage } from '../../src/call/usage.ts'
import type { BillingRules } from '../../src/pricing/billing-rules.ts'
import { USUAL_BILLING_RULES } from '../../src/pricing/catalog/catalog-price-set.ts'
import { unpricedParts } from '../../src/pricing/price-gaps.ts'
import type { RateClass } from '../../src/pricing/price-rates.ts'

interface Used {
  readonly usage?: Partial<TokenUsage>
  readonly units?: Partial<BilledUnits>
  readonly rules?: Partial<BillingRules>
}

/** What has no rate of what was used, where these classes have one. */
function gapsOf(rates: readonly RateClass[], { usage, units, rules }: Used) {
  return unpricedParts(
    Object.fromEntries(rates.map((name) => [name, 1n])),
    { ...USUAL_BILLING_RULES, ...rules },
    { ...NO_USAGE, ...usage },
    units === undefined ? NO_UNITS : { ...NO_UNITS, ...units },
  )
}

const TEXT: readonly RateClass[] = ['input', 'output']
const TOKENS = { inputTokens: 9, outputTokens: 9 }
const MEDIA_APART = { mediaIsApart: true }

test.each<[string, readonly RateClass[], Used, readonly RateClass[] | null]>([
  ['cached for an hour', [...TEXT, 'cacheWrite'], { usage: { cacheWrite1hTokens: 1 } }, ['cacheWrite1h']],
  ['cached for twelve', [...TEXT, 'cacheWrite'], { usage: { cacheWrite12hTokens: 1 } }, ['cacheWrite12h']],
  ['output beside input alone', ['input'], { usage: TOKENS }, ['output']],
  ['the plain rest of output', ['input'], { usage: { ...TOKENS, audioOutputTokens: 8 } }, ['output']],
  ['sound of OpenAI', TEXT, { usage: { audioInputTokens: 1 }, rules: MEDIA_APART }, ['audioInput']],
  ['a picture for it', TEXT, { usage: { imageInputTokens: 1 }, rules: MEDIA_APART }, ['imageInput']],
  ['speech of it', TEXT, { usage: { audioOutputTokens: 1 }, rules: MEDIA_APART }, ['audioOutput']],
  ['a picture of it', TEXT, { usage: { imageOutputTokens: 1 }, rules: MEDIA_APART }, ['imageOutput']],
  [
    'seconds beside the tokens of Mistral',
    TEXT,
    { usage: TOKENS, units: { audioMs: 1 }, rules: { secondsAreBeside: true } },
    ['audioMs'],
  ],
  ['characters without a token', TEXT, { units: { characters: 1 } }, ['character']],
])('what has no rate is a gap: %s', (_what, rates, used, gaps) => {
  expect(gapsOf(rates, used)).toEqual(gaps)
})

test.each<[string, readonly RateClass[], Used]>([
  ['cached for an hour', TEXT, { usage: { cacheWrite1hTokens: 1, cacheWrite12hTokens: 1 } }],
  ['sound and pictures in', TEXT, { usage: { audioInputTokens: 1, imageInputTokens: 1 } }],
  ['speech alone', ['input', 'audioOutput'], { usage: { ...TOKENS, audioOutputTokens: 9 } }],
  ['pictures alone', ['input', 'imageOutput'], { usage: { ...TOKENS, imageOutputTokens: 9 } }],
  ['seconds and characters of tokens', TEXT, { usage: TOKENS, units: { audioMs: 1, characters: 1 } }],
])('what costs what the class does that it is part of is not a gap: %s', (_what, rates, used) => {
  expect(gapsOf(rates, used)).toBeNull()
})
