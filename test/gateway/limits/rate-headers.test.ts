import { expect, test } from 'vitest'
import { renderDuration, renderRates } from '../../../src/gateway/admission/rate-headers.ts'

const NOW = Date.parse('2030-01-31T23:59:30.400Z')
const REQUESTS = { limit: 60, remaining: 12, resetMs: 31_000 }
const TOKENS = { limit: 1_000_000, remaining: 0, resetMs: 20 }

test('durations are written as OpenAI writes them', () => {
  const durations = [0, 19.2, 20, 1_000, 8_640, 60_000, 90_500, 360_000, 3_600_000, 5_445_000]
  expect(durations.map(renderDuration)).toEqual([
    ...['0s', '20ms', '20ms', '1s', '8.64s', '1m0s', '1m30.5s', '6m0s', '1h0m0s', '1h30m45s'],
  ])
})

test('rates have the names and forms that OpenAI has', () => {
  expect(renderRates({ requests: REQUESTS, tokens: TOKENS }, 'openai', NOW)).toEqual({
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '12',
    'x-ratelimit-reset-requests': '31s',
    'x-ratelimit-limit-tokens': '1000000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '20ms',
  })
})

test("on Anthropic's paths they have Anthropic's, with points in time that are never too early", () => {
  expect(renderRates({ requests: REQUESTS, tokens: TOKENS }, 'anthropic', NOW)).toEqual({
    'anthropic-ratelimit-requests-limit': '60',
    'anthropic-ratelimit-requests-remaining': '12',
    'anthropic-ratelimit-requests-reset': '2030-02-01T00:00:02Z',
    'anthropic-ratelimit-tokens-limit': '1000000',
    'anthropic-ratelimit-tokens-remaining': '0',
    'anthropic-ratelimit-tokens-reset': '2030-01-31T23:59:31Z',
  })
})

test('only what is limited is named, and nothing where nothing is', () => {
  expect(Object.keys(renderRates({ requests: null, tokens: TOKENS }, 'openai', NOW) ?? {})).toHaveLength(3)
  expect(renderRates({ requests: null, tokens: null }, 'openai', NOW)).toBeNull()
  const overdrawn = { ...TOKENS, remaining: -3.5 }
  expect(renderRates({ requests: null, tokens: overdrawn }, 'openai', NOW)).toMatchObject({
    'x-ratelimit-remaining-tokens': '0',
  })
})
