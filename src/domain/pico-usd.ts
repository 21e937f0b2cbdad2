/** The JSON number nearest to an exact amount of pico-USD, in USD. */
export function picoToUsdNumber(pico: bigint): number {
  return Number(picoToUsdText(pico))
}

const PICO_PLACES = 12

/** An amount of pico-USD as an exact decimal in USD, without trailing zeros: `0.0375`, `-12`. */
export function picoToUsdText(pico: bigint): string {
  return usdTextOf(`${pico}`)
}

/** The same of an amount that is text already, as SQL gives it: an export has three in each of its rows. */
export function usdTextOf(pico: string): string {
  if (pico === '0') return pico
  const isNegative = pico.startsWith('-')
  const digits = (isNegative ? pico.slice(1) : pico).padStart(PICO_PLACES + 1, '0')
  const point = digits.length - PICO_PLACES
  let end = digits.length
  while (end > point && digits.charCodeAt(end - 1) === ZERO) end -= 1
  const whole = isNegative ? `-${digits.slice(0, point)}` : digits.slice(0, point)
  return end === point ? whole : `${whole}.${digits.slice(point, end)}`
}

const ZERO = 0x30

const USD_TEXT = /^(-?)([0-9]+)(?:\.([0-9]{1,12}))?$/

/** Whether `parseUsdText` reads it. */
export function isUsdText(text: string): boolean {
  return USD_TEXT.test(text)
}

/** The exact amount that `picoToUsdText` wrote, in pico-USD. @throws {RangeError} The text is not such an amount. */
export function parseUsdText(text: string): bigint {
  const [, sign, whole, fraction = ''] = USD_TEXT.exec(text) ?? []
  if (whole === undefined) throw new RangeError(`${text} is not an amount of US dollars`)
  const pico = BigInt(whole + fraction.padEnd(PICO_PLACES, '0'))
  return sign === '-' ? -pico : pico
}
