import { expect, test } from 'vitest'
import {
  type CallFacts,
  NOTHING_OBSERVED,
  needsEstimate,
  settle,
  settleWithEstimate,
} from '../../src/call/settle.ts'
import { NO_UNITS } from '../../src/domain/usage.ts'

const facts: CallFacts = {
  call: {
    callId: '01900000-0000-7000-8000-000000000000',
    arrivedAtMs: 0,
    clientId: 'cli_1',
    keyId: 'key_1',
    upstream: 'default',
    provider: 'openai',
    method: 'POST',
    path: '/v1/chat/completions',
    requestedModel: 'm',
    webSocket: false,
  },
  clientName: 'c',
  status: 200,
  outcome: 'complete',
  observation: NOTHING_OBSERVED,
  latencyUs: 1,
  ttftUs: 1,
  estimates: { input: async () => 5, output: async () => 3 },
}
const pricing = {
  priceCall: () => ({ kind: 'unpriced', reason: 'no_price' }) as const,
  knowsModel: () => false,
}

test('an answer without usage is estimated, one that is billed by other units is not', () => {
  expect(needsEstimate(facts)).toBe(true)
  expect(
    needsEstimate({ ...facts, observation: { ...NOTHING_OBSERVED, units: { ...NO_UNITS, searchUnits: 1 } } }),
  ).toBe(false)
  expect(
    needsEstimate({ ...facts, observation: { ...NOTHING_OBSERVED, units: { ...NO_UNITS, webSearches: 1 } } }),
  ).toBe(true)
})

test('errors, pending responses and endpoints without tokens are not estimated', () => {
  expect(needsEstimate({ ...facts, status: 500 })).toBe(false)
  expect(needsEstimate({ ...facts, observation: { ...NOTHING_OBSERVED, failed: true } })).toBe(false)
  expect(needsEstimate({ ...facts, observation: { ...NOTHING_OBSERVED, pending: true } })).toBe(false)
  expect(needsEstimate({ ...facts, estimates: null })).toBe(false)
})

test('an estimate says that it is one, and nothing to count is no estimate', async () => {
  expect(await settleWithEstimate(facts, pricing)).toMatchObject({
    usageSource: 'estimated',
    usage: { inputTokens: 5, outputTokens: 3 },
    costPico: null,
  })
  const silent = { ...facts, estimates: { input: async () => null, output: async () => 0 } }
  expect(await settleWithEstimate(silent, pricing)).toMatchObject({ usageSource: 'none', costPico: 0n })
})

test('a client gone before headers is charged its prompt and no output', async () => {
  const estimates = { input: async () => 5, output: async () => 0 }
  const gone: CallFacts = { ...facts, status: null, outcome: 'client_aborted', estimates }
  expect(needsEstimate(gone)).toBe(true)
  expect(await settleWithEstimate(gone, pricing)).toMatchObject({
    usageSource: 'estimated',
    usage: { inputTokens: 5, outputTokens: 0 },
  })
})

test('impossible counts are unpriced, never free', () => {
  const free = {
    ...pricing,
    priceCall: () => ({ kind: 'priced', costPico: 0n, priceId: 'p', definition: null }) as const,
  }
  const end = settle({ ...facts, observation: { ...NOTHING_OBSERVED, usageSource: 'invalid' } }, free)
  expect(end).toMatchObject({ usageSource: 'invalid', costPico: null, priceId: null })
})
