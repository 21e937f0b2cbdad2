/** An exact non-negative decimal number: `digits / 10^scale`. */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

export const ONE: Decimal = { digits: 1n, scale: 0 }

/** More than any price or factor needs, and few enough that text from outside cannot make arithmetic slow. */
const MAX_TEXT_LENGTH = 40

/** Plain decimal text as people write prices: `2`, `0.0375`. Anything else, signs and exponents too, is `null`. */
export function parseDecimal(text: string): Decimal | null {
  if (text.length > MAX_TEXT_LENGTH) return null
  const match = /^([0-9]+)(?:\.([0-9]+))?$/.exec(text)
  if (match === null) return null
  const [, whole = '', fraction = ''] = match
  return { digits: BigInt(whole + fraction), scale: fraction.length }
}

/** The same of text in this code. @throws {TypeError} when it is none. */
export function decimalOfText(text: string): Decimal {
  const value = parseDecimal(text)
  if (value === null) throw new TypeError(`no decimal number: ${text}`)
  return value
}

/**
 * The decimal that `value` was written as: the shortest text that reads back as the same double, so that a
 * catalog's 0.0375 is 375/10000 and not the double's own 0.03749999999999999861...
 *
 * @throws {RangeError} when `value` is negative or not finite.
 */
export function decimalOf(value: number): Decimal {
  const match = /^([0-9]+)(?:\.([0-9]+))?(?:e([+-][0-9]+))?$/.exec(String(value))
  if (match === null) throw new RangeError(`not a non-negative finite number: ${value}`)
  const [, whole = '', fraction = '', exponent = '0'] = match
  const scale = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 }
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return { digits: a.digits * b.digits, scale: a.scale + b.scale }
}

/** `value * multiplier / divisor` as an integer, halves rounded up. */
export function scaleToInteger(value: Decimal, multiplier: bigint, divisor: bigint): bigint {
  const numerator = value.digits * multiplier
  const denominator = divisor * 10n ** BigInt(value.scale)
  return (2n * numerator + denominator) / (2n * denominator)
}

/** The shortest text of a decimal: no trailing zeros, no exponent. The same number always gives the same text. */
export function decimalText({ digits, scale }: Decimal): string {
  if (scale === 0) return digits.toString()
  const text = digits.toString().padStart(scale + 1, '0')
  const fraction = text.slice(-scale).replace(/0+$/, '')
  const whole = text.slice(0, -scale)
  return fraction === '' ? whole : `${whole}.${fraction}`
}
