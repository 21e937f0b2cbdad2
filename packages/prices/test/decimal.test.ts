import { expect, test } from 'vitest'
import { decimalOf, decimalText, parseDecimal, scaleToInteger } from '../src/decimal.ts'

test('a price is read as its decimal text, never as the double', () => {
  expect(scaleToInteger(decimalOf(0.0375), 1_000_000_000_000n, 1_000_000n)).toBe(37_500n)
  expect(decimalOf(1e-7)).toEqual({ digits: 1n, scale: 7 })
  expect(decimalOf(2.5e21)).toEqual({ digits: 2_500_000_000_000_000_000_000n, scale: 0 })
  expect(decimalOf(0.08333333333333334)).toEqual({ digits: 8_333_333_333_333_334n, scale: 17 })
  expect(() => decimalOf(-1)).toThrow(RangeError)
  expect(() => decimalOf(Number.NaN)).toThrow(RangeError)
})

test('halves are rounded up, once', () => {
  const pico = (text: string) =>
    scaleToInteger(parseDecimal(text) ?? { digits: -1n, scale: 0 }, 1_000_000n, 1n)
  expect(pico('0.0000005')).toBe(1n)
  expect(pico('0.0000004999999')).toBe(0n)
  expect(pico('0.0000015')).toBe(2n)
  expect(pico('3')).toBe(3_000_000n)
})

test('only plain decimal text is a number, and its shortest form is one text for one number', () => {
  for (const text of [
    '',
    '-1',
    '+1',
    '1e3',
    '.5',
    '5.',
    '1,5',
    '1_000',
    ' 1',
    '0x1',
    'NaN',
    '1'.repeat(41),
  ]) {
    expect(parseDecimal(text), text).toBeNull()
  }
  const shortest = (text: string) => decimalText(parseDecimal(text) ?? { digits: -1n, scale: 0 })
  expect(['1.20', '01.2', '1.2'].map(shortest)).toEqual(['1.2', '1.2', '1.2'])
  expect(['0.50', '10', '1.000', '0'].map(shortest)).toEqual(['0.5', '10', '1', '0'])
})
