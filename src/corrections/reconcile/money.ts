import { decimalOf, parseDecimal, scaleToInteger } from '../../domain/decimal.ts'

const PICO_PER_USD = 1_000_000_000_000n

/**
 * An amount of money from a report in pico-USD, halves rounded up: a JSON number by its shortest text, or
 * decimal text. `null`: neither.
 *
 * @param perUsd What one dollar is in the report's unit: 1, or 100 for cents.
 */
export function amountPico(amount: number | string, perUsd: bigint): bigint | null {
  const isNegative = typeof amount === 'number' ? amount < 0 : amount.startsWith('-')
  const size =
    typeof amount === 'number'
      ? Number.isFinite(amount)
        ? decimalOf(Math.abs(amount))
        : null
      : parseDecimal(isNegative ? amount.slice(1) : amount)
  if (size === null) return null
  const pico = scaleToInteger(size, PICO_PER_USD, perUsd)
  return isNegative ? -pico : pico
}
