import { describe, expect, test } from 'vitest'
import { NOTHING_OBSERVED } from '../../../src/call/observation.ts'
import { NO_UNITS, NO_USAGE } from '../../../src/call/usage.ts'
import type { CallResult } from '../../../src/gateway/recording/call-result.ts'
import {
  finalizeCall,
  finalizeWithEstimate,
  needsEstimate,
} from '../../../src/gateway/recording/finalize-call.ts'
import { NOTHING_TO_PRICE, type Pricing } from '../../../src/gateway/recording/pricing.ts'
import { type EndpointContext, endpointContextOf } from '../../../src/gateway/routing/route.ts'
import { openAiChat } from '../../../src/providers/openai/openai-chat.ts'
import { USAGE_IF_ASKED } from '../../../src/providers/openai/openai-overrides.ts'
import { selectDialect } from '../../../src/providers/registry.ts'

const result: CallResult = {
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
  client: { clientName: 'c' },
  endpoint: endpointContextOf(openAiChat(USAGE_IF_ASKED)),
  status: 200,
  outcome: 'complete',
  observation: NOTHING_OBSERVED,
  latencyUs: 1,
  ttftUs: 1,
  estimates: { estimateInput: async () => 5, estimateOutput: async () => 3 },
}
const pricing = {
  priceCall: () => ({ kind: 'unpriced', reason: 'no_price' }) as const,
  knowsModel: () => false,
}

test('an answer without usage is estimated, one that is billed by other units is not', () => {
  expect(needsEstimate(result)).toBe(true)
  expect(
    needsEstimate({
      ...result,
      observation: { ...NOTHING_OBSERVED, units: { ...NO_UNITS, searchUnits: 1 } },
    }),
  ).toBe(false)
  // Tools run amid an answer, whose tokens are billed too.
  for (const tool of ['webSearches', 'fileSearches', 'codeRuns', 'otherToolCalls'] as const) {
    const observation = { ...NOTHING_OBSERVED, units: { ...NO_UNITS, [tool]: 1 } }
    expect(needsEstimate({ ...result, observation })).toBe(true)
  }
})

test('errors, pending responses and endpoints without tokens are not estimated', () => {
  expect(needsEstimate({ ...result, status: 500 })).toBe(false)
  expect(needsEstimate({ ...result, observation: { ...NOTHING_OBSERVED, pending: true } })).toBe(false)
  expect(needsEstimate({ ...result, estimates: null })).toBe(false)
})

test.each([
  ['created', 'billed_later', null],
  ['fetched', undefined, '0'],
] as const)('figures of work that runs on, %s, are left to the fetch that tells the last ones', (responseUse, unpricedReason, costPico) => {
  const usage = { ...NO_USAGE, inputTokens: 0, outputTokens: 0 }
  for (const usageSource of ['reported', 'partial'] as const) {
    const observation = { ...NOTHING_OBSERVED, pending: true, usageSource, usage, responseId: 'batch_1' }
    const end = finalizeCall(
      { ...result, endpoint: { metering: 'metered', responseUse }, observation },
      pricing,
    )
    expect(end).toMatchObject({ usageSource: 'none', usage: NO_USAGE, unpricedReason, costPico })
  }
})

test('an answer that tells its cost and no figures has that cost where it is believed, else none', () => {
  const observation = { ...NOTHING_OBSERVED, reportedCostPico: 300_000_000_000n }
  const fetched = {
    ...result,
    endpoint: { metering: 'metered', responseUse: 'created' },
    observation,
  } as const
  const asReported = {
    kind: 'priced',
    costPico: 300_000_000_000n,
    priceId: 'xai/reported',
    definition: null,
  } as const
  expect(finalizeCall(fetched, { ...pricing, priceCall: () => asReported })).toMatchObject({
    costPico: '300000000000',
    priceId: 'xai/reported',
    usageSource: 'none',
  })
  expect(finalizeCall(fetched, { ...pricing, priceCall: () => NOTHING_TO_PRICE })).toMatchObject({
    costPico: null,
    unpricedReason: 'no_figures',
  })
})

test('a call cut before its answer, of which no tokens can be estimated, is unpriced unless it was a fetch', () => {
  const cut = {
    ...result,
    status: null,
    outcome: 'client_aborted',
    estimates: null,
    observation: null,
  } as const
  expect(finalizeCall(cut, pricing)).toMatchObject({ costPico: null, unpricedReason: 'no_figures' })
  const unread = { ...cut, endpoint: { metering: 'unknown', responseUse: 'created' } } as const
  expect(finalizeCall(unread, pricing)).toMatchObject({ costPico: null, unpricedReason: 'no_reader' })
  const fetch = { ...cut, endpoint: { metering: 'metered', responseUse: 'fetched' } } as const
  expect(finalizeCall(fetch, pricing)).toMatchObject({ costPico: '0', unpricedReason: undefined })
  expect(finalizeCall({ ...cut, outcome: 'upstream_error' }, pricing)).toMatchObject({ costPico: '0' })
})

test('an estimate says that it is one, and nothing to count is not an estimate', async () => {
  expect(await finalizeWithEstimate(result, pricing)).toMatchObject({
    usageSource: 'estimated',
    usage: { inputTokens: 5, outputTokens: 3 },
    costPico: null,
  })
  const silent = { ...result, estimates: { estimateInput: async () => null, estimateOutput: async () => 0 } }
  expect(await finalizeWithEstimate(silent, pricing)).toMatchObject({
    usageSource: 'none',
    costPico: null,
    unpricedReason: 'no_figures',
  })
})

test('the prompt of an unreadable answer has no cost', async () => {
  const unread = {
    ...result,
    observation: null,
    estimates: { estimateInput: async () => 5, estimateOutput: async () => null },
  }
  expect(await finalizeWithEstimate(unread, pricing)).toMatchObject({
    usageSource: 'estimated',
    usage: { inputTokens: 5, outputTokens: null },
    costPico: null,
    unpricedReason: 'no_figures',
  })
})

test('an error amid an answer leaves what had been delivered; one in its place used nothing', async () => {
  const failed = { ...result, observation: { ...NOTHING_OBSERVED, failed: true } }
  expect(needsEstimate(failed)).toBe(true)
  expect(await finalizeWithEstimate(failed, pricing)).toMatchObject({
    usageSource: 'estimated',
    usage: { inputTokens: 5, outputTokens: 3 },
  })
  const refused = { ...failed, estimates: { estimateInput: async () => 5, estimateOutput: async () => 0 } }
  expect(await finalizeWithEstimate(refused, pricing)).toMatchObject({ usageSource: 'none', costPico: '0' })
})

test('an output without its prompt is counted, and its cost is not taken for the whole', async () => {
  const priced = {
    ...pricing,
    priceCall: () => ({ kind: 'priced', costPico: 7n, priceId: 'p', definition: null }) as const,
  }
  const half = { ...result, estimates: { estimateInput: async () => null, estimateOutput: async () => 3 } }
  expect(await finalizeWithEstimate(half, priced)).toMatchObject({
    usageSource: 'estimated',
    usage: { inputTokens: null, outputTokens: 3 },
    costPico: null,
    unpricedReason: 'no_figures',
  })
})

describe('a call that reported no figures', () => {
  const METERED = result.endpoint
  const FETCHED: EndpointContext = { metering: 'metered', responseUse: 'fetched' }
  const UNKNOWN: EndpointContext = { metering: 'unknown', responseUse: 'created' }
  const FREE: EndpointContext = { metering: 'free', responseUse: 'created' }
  const pending = { ...NOTHING_OBSERVED, pending: true }
  const failed = { ...NOTHING_OBSERVED, failed: true }

  const PASSING_BY = endpointContextOf(selectDialect('openai', 'POST', '/v1/realtime/client_secrets'))

  test.each([
    ['at a metered endpoint', METERED, 200, NOTHING_OBSERVED, 'no_figures'],
    ['at a metered endpoint whose reader broke', METERED, 201, null, 'no_figures'],
    ['on a path that no dialect reads', UNKNOWN, 200, NOTHING_OBSERVED, 'no_reader'],
    ['and leads past the gateway', PASSING_BY, 201, NOTHING_OBSERVED, 'passes_by'],
    ['and says that it is still at work', METERED, 202, pending, 'billed_later'],
    ['in a session', METERED, 101, NOTHING_OBSERVED, 'no_figures'],
    ['in a session on a path that is free to GET', FREE, 101, null, 'no_reader'],
  ] as const)('a call whose answer reports no figures (%s) is unpriced, with the reason', (_, endpoint, status, observation, reason) => {
    expect(finalizeCall({ ...result, endpoint, status, observation }, pricing)).toMatchObject({
      usageSource: 'none',
      costPico: null,
      unpricedReason: reason,
    })
  })

  test.each([
    ['on a path known to be free', FREE, 200, null],
    ['as it failed', METERED, 500, NOTHING_OBSERVED],
    ['as it was redirected', UNKNOWN, 302, NOTHING_OBSERVED],
    ['as it failed in its body', METERED, 200, failed],
    ['as there was no answer', METERED, null, null],
    ['as it asked for what another call made', FETCHED, 200, pending],
  ] as const)('a call without figures costs nothing where it is known to be free: %s', (_, endpoint, status, observation) => {
    expect(finalizeCall({ ...result, endpoint, status, observation }, pricing)).toMatchObject({
      costPico: '0',
      unpricedReason: undefined,
    })
  })
})

test.each([
  ['openai', 'POST', '/v1/responses', 'metered', 'created'],
  ['openai', 'GET', '/v1/responses/resp_1', 'metered', 'fetched'],
  ['openai', 'POST', '/v1/responses/resp_1/cancel', 'metered', 'fetched'],
  ['openai', 'GET', '/v1/batches/batch_1', 'metered', 'fetched'],
  ['openai', 'POST', '/v1/moderations', 'free', 'created'],
  ['anthropic', 'GET', '/v1/messages/batches/b/results', 'metered', 'fetched'],
  ['gemini', 'POST', '/v1beta/interactions', 'metered', 'created'],
  ['gemini', 'POST', '/v1beta/interactions/i/cancel', 'metered', 'fetched'],
  ['gemini', 'GET', '/v1beta/interactions/i', 'metered', 'fetched'],
  ['perplexity', 'POST', '/async/chat/completions', 'metered', 'created'],
  ['perplexity', 'GET', '/async/chat/completions/a', 'metered', 'fetched'],
  ['perplexity', 'POST', '/v1/async/sonar', 'metered', 'created'],
  ['perplexity', 'GET', '/v1/async/sonar/a', 'metered', 'fetched'],
] as const)('at %s, %s %s is %s and %s', (provider, method, path, metering, responseUse) => {
  expect(endpointContextOf(selectDialect(provider, method, path))).toEqual(
    metering === 'free' ? { metering, responseUse: 'created' } : { metering, responseUse },
  )
})

test('a call above the limit is booked as it is and flagged, one at the limit is not', () => {
  const costing = (costPico: bigint) =>
    finalizeCall(
      { ...result, observation: { ...NOTHING_OBSERVED, usageSource: 'reported' } },
      {
        ...pricing,
        alertAbovePico: 1_000n,
        priceCall: () => ({ kind: 'priced', costPico, priceId: 'p', definition: null }),
      },
    )
  expect(costing(1_001n)).toMatchObject({ costPico: '1001', suspect: true })
  expect(costing(1_000n)).toMatchObject({ costPico: '1000', suspect: undefined })
})

test('a client gone before headers is charged its prompt and no output', async () => {
  const estimates = { estimateInput: async () => 5, estimateOutput: async () => 0 }
  const gone: CallResult = { ...result, status: null, outcome: 'client_aborted', estimates }
  expect(needsEstimate(gone)).toBe(true)
  expect(await finalizeWithEstimate(gone, pricing)).toMatchObject({
    usageSource: 'estimated',
    usage: { inputTokens: 5, outputTokens: 0 },
  })
})

test('impossible counts are unpriced, never free', () => {
  const free = {
    ...pricing,
    priceCall: () => ({ kind: 'priced', costPico: 0n, priceId: 'p', definition: null }) as const,
  }
  const end = finalizeCall({ ...result, observation: { ...NOTHING_OBSERVED, usageSource: 'invalid' } }, free)
  expect(end).toMatchObject({ usageSource: 'invalid', costPico: null, priceId: null })
})

describe('what a fetch tells', () => {
  const HOUR_MS = 3_600_000
  const fetchedAtMs = 100 * 24 * HOUR_MS
  const observation = { ...NOTHING_OBSERVED, usageSource: 'reported', responseId: 'batch_1' } as const

  /** The times at which calls were priced. */
  function pricedAt(responseUse: EndpointContext['responseUse'], madeAtMs: number | null): number[] {
    const times: number[] = []
    const priceCall: Pricing['priceCall'] = ({ arrivedAtMs }) => {
      times.push(arrivedAtMs)
      return pricing.priceCall()
    }
    const call = { ...result.call, arrivedAtMs: fetchedAtMs }
    const observed = { ...observation, madeAtMs }
    const endpoint = { metering: 'metered', responseUse } as const
    finalizeCall(
      { ...result, call, endpoint, observation: { ...observed, jobs: [observed] } },
      { ...pricing, priceCall },
    )
    return times
  }

  test('what a fetch reports is priced as of its submission, each job of several too', () => {
    const madeAtMs = fetchedAtMs - 30 * HOUR_MS
    expect(pricedAt('fetched', madeAtMs)).toEqual([madeAtMs, madeAtMs])
  })

  test.each([
    ['it says no time', null],
    ['it says one to come', fetchedAtMs + HOUR_MS],
    ['it says one that is too long ago', fetchedAtMs - 91 * 24 * HOUR_MS],
  ])('what a fetch reports is priced as of the fetch where %s', (_, madeAtMs) => {
    expect(pricedAt('fetched', madeAtMs)).toEqual([fetchedAtMs, fetchedAtMs])
  })

  test('what a call made itself is priced as of its arrival by our clock', () => {
    expect(pricedAt('created', fetchedAtMs - HOUR_MS)).toEqual([fetchedAtMs, fetchedAtMs])
  })
})

test('jobs that a record cannot take are left whole to the next fetch, and none is priced in part', () => {
  const checked: (string | null)[] = []
  const counting: Pricing = {
    ...pricing,
    priceCall({ model }) {
      checked.push(model)
      return { kind: 'unpriced', reason: 'no_price' }
    },
  }
  const usage = { ...NO_USAGE, inputTokens: 1, outputTokens: 1 }
  const reported = (responseId: string | null) =>
    ({ ...NOTHING_OBSERVED, usageSource: 'reported', usage, responseId, model: responseId }) as const
  const three = (id: string) => [reported(id), reported(id), reported(id)]
  const jobs = [reported(null), ...Array.from({ length: 400 }, (_, index) => three(`run_${index}`)).flat()]
  const observation = { ...NOTHING_OBSERVED, pending: true, jobs }
  const end = finalizeCall({ ...result, observation }, counting)
  // 341 of three models each are 1,023; the next would be cut.
  expect(end.jobs?.length).toBe(1_023)
  expect(end.jobs?.at(-1)?.id).toBe('run_340')
  expect(checked).toEqual(end.jobs?.map(({ id }) => id))
})
