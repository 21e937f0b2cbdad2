import { expect, test } from 'vitest'
import { parseAmount } from '../../src/limits/limit-document.ts'

test.each([
  ['1', 1_000_000_000_000n],
  ['0.05', 50_000_000_000n],
  ['2.000000000001', 2_000_000_000_001n],
])('a budget of %s US dollars is that in pico-dollars', (text, pico) => {
  expect(parseAmount('budget', text)).toBe(pico)
})

test.each(['0', '', '1,5', '-1', '1e3', '0.0000000000001'])('a budget of %s is none', (text) => {
  expect(parseAmount('budget', text)).toBeNull()
})
