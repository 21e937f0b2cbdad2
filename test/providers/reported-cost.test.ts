import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  costInTicks,
  costInUsd,
  listCost,
  picoFromUsd,
  totalCostInUsd,
} from '../../src/providers/reading/reported-cost.ts'
import { rounds } from '../support/rounds.ts'

describe('dollars as a provider writes them', () => {
  test.each([
    [0, 0n],
    [0.00021672, 216_720_000n],
    [1.4e-7, 140_000n],
    [3.4e-7, 340_000n],
    ['0.000000000001', 1n],
    ['0.0000000000005', 1n],
    ['0.00000000000049', 0n],
    [1e-13, 0n],
    [5e-13, 1n],
    [0.00020999999999999998, 210_000_000n],
    ['12.5', 12_500_000_000_000n],
    ['1E2', 100_000_000_000_000n],
    [123, 123_000_000_000_000n],
  ])('a reported cost of %s is %s pico-dollars', (usd, pico) => {
    expect(picoFromUsd(usd)).toBe(pico)
  })

  test.each([
    -0.1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1e12,
    '1e99',
    '12345678901.5',
    '',
    '-1',
    'free',
    null,
    undefined,
    {},
    true,
  ])('%s is not an amount of dollars', (usd) => {
    expect(picoFromUsd(usd)).toBe(null)
  })

  test('reported dollars come back unchanged for every whole number of pico-dollars that a double can hold', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (pico) => {
        const text = pico.toString().padStart(13, '0')
        const usd = `${text.slice(0, -12)}.${text.slice(-12)}`
        expect(picoFromUsd(usd)).toBe(pico)
        expect(picoFromUsd(Number(usd))).toBe(pico)
      }),
      { numRuns: rounds({ short: 500, long: 2_000 }), seed: 20_261_121 },
    )
  })
})

describe('a cost in usage', () => {
  test('a reported cost in ticks of 1e-10 dollars is exact', () => {
    expect(costInTicks({ cost_in_usd_ticks: 2_733_250 })).toBe(273_325_000n)
    expect(costInTicks({ cost_in_usd_ticks: 1.5 })).toBe(null)
    expect(costInTicks({})).toBe(null)
  })

  test('a reported cost in parts is their total', () => {
    expect(totalCostInUsd({ cost: { request_cost: 0.005, total_cost: 0.0053 } })).toBe(5_300_000_000n)
  })

  test.each<[string, object, bigint | null]>([
    ['its own price', { cost: 0.0003, is_byok: false }, 300_000_000n],
    [
      'the provider’s, which is none of the client’s business',
      { cost: 0.0003, is_byok: false, cost_details: { upstream_inference_cost: 0.0002 } },
      300_000_000n,
    ],
    [
      'a client’s own key',
      { cost: 0, is_byok: true, cost_details: { upstream_inference_cost: 0.00031 } },
      310_000_000n,
    ],
    [
      'a client’s own key, and a fee',
      { cost: 0.00001, is_byok: true, cost_details: { upstream_inference_cost: 0.0002 } },
      210_000_000n,
    ],
    [
      'a client’s own key, without the provider’s figure',
      { cost: 0, is_byok: true, cost_details: { upstream_inference_cost: null } },
      null,
    ],
    ['a client’s own key, without details', { cost: 0.00001, is_byok: true }, null],
    ['a client’s own key at Vercel', { cost: 0, market_cost: 0.001172, is_byok: true }, 1_172_000_000n],
    ['credits at Vercel', { cost: '0', market_cost: 0.001172, is_byok: false }, 1_172_000_000n],
    [
      'a surcharge at Vercel',
      { cost: 0.000038, market_cost: 0.000038, gateway_cost: 0.000138 },
      138_000_000n,
    ],
    ['a surcharge beside credits', { cost: 0, market_cost: 0.001, gateway_cost: 0.0001 }, 1_100_000_000n],
    [
      'a surcharge beside a client’s own key',
      { cost: 0, market_cost: 0.001, gateway_cost: 0.0001, is_byok: true },
      1_100_000_000n,
    ],
    [
      'a surcharge that has its own member',
      { cost: 0, market_cost: 0.0000163, surcharge_cost: 0.0001, gateway_cost: 0.0001163 },
      116_300_000n,
    ],
    [
      'a surcharge with the call, beside credits',
      { cost: 0, market_cost: 0.001, gateway_cost: 0.0011 },
      1_100_000_000n,
    ],
    [
      'no surcharge, beside a client’s own key',
      { cost: 0, market_cost: 0.001, gateway_cost: 0.001, is_byok: true },
      1_000_000_000n,
    ],
    [
      'no surcharge at Vercel',
      { cost: 0.0000672, market_cost: 0.0000672, gateway_cost: 0.0000672 },
      67_200_000n,
    ],
    ['a discount at Vercel', { cost: 0.001, market_cost: 0.001172, is_byok: false }, 1_000_000_000n],
    ['a free model', { cost: 0, is_byok: false }, 0n],
  ])('what a router says a call cost has what the provider takes: %s', (_what, usage, pico) => {
    expect(costInUsd({ ...usage })).toBe(pico)
  })

  test('a session’s list cost is in whole cents of dollars', () => {
    expect(listCost({ list_cost: { amount: '2500', currency: 'USD' } })).toBe(25_000_000_000_000n)
    expect(listCost({ list_cost: { amount: '25.5', currency: 'USD' } })).toBe(null)
    expect(listCost({ list_cost: { amount: '2500', currency: 'EUR' } })).toBe(null)
    expect(listCost({ list_cost: null })).toBe(null)
  })
})
