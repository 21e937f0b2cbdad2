import fc from 'fast-check'
import { expect, test } from 'vitest'
import { picoToUsdNumber, picoToUsdText } from '../../../src/domain/pico-usd.ts'
import { renderSummary, sumTotals } from '../../../src/usage/query/usage-figures.ts'

test('a summary has exactly the fields of the contract, in its order', () => {
  const totals = {
    requests: 3n,
    inputTokens: 1_000n,
    outputTokens: 234n,
    latencyUsSum: 3_001n,
    latencyCount: 2n,
    costPico: 37_500n,
  }
  expect(JSON.stringify(renderSummary('acme', 30, totals))).toBe(
    '{"client":"acme","period_days":30,"requests":3,"input_tokens":1000,"output_tokens":234,' +
      '"total_tokens":1234,"avg_latency_ms":1.501,"cost_usd":3.75e-8}',
  )
})

test('nothing used is zeros', () => {
  expect(JSON.stringify(renderSummary('acme', 1, sumTotals([])))).toBe(
    '{"client":"acme","period_days":1,"requests":0,"input_tokens":0,"output_tokens":0,' +
      '"total_tokens":0,"avg_latency_ms":0,"cost_usd":0}',
  )
})

test('an amount is the JSON number nearest to it, however large', () => {
  expect(picoToUsdNumber(1n)).toBe(1e-12)
  expect(picoToUsdNumber(300_000_000_000n)).toBe(0.3)
  expect(picoToUsdNumber(100_000_000_000n * 3n)).toBe(0.3) // 0.1 + 0.1 + 0.1 would not be
  expect(picoToUsdNumber(123_456_789_012_345_678_901_234n)).toBe(123_456_789_012.345_67)
  expect(picoToUsdNumber(-2_500_000_000_000n)).toBe(-2.5)
})

test('the exact text of an amount reads back as the amount', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), (pico) => {
      const text = picoToUsdText(pico)
      expect(text).toMatch(/^-?(0|[1-9]\d*)(\.\d*[1-9])?$/)
      const [whole = '', fraction = ''] = text.replace('-', '').split('.')
      const size = BigInt(whole + fraction.padEnd(12, '0'))
      expect(text.startsWith('-') ? -size : size).toBe(pico)
    }),
    { seed: 20_261_126 },
  )
})

test('groups add up to the whole in every figure, none to nothing', () => {
  const totals = (n: bigint) => ({
    requests: n,
    inputTokens: 10n * n,
    outputTokens: 100n * n,
    latencyUsSum: 1_000n * n,
    latencyCount: 10_000n * n,
    costPico: 100_000n * n,
  })
  expect(sumTotals([totals(1n), totals(2n), totals(4n)])).toEqual(totals(7n))
  expect(sumTotals([])).toEqual(totals(0n))
})
