/** The JSON number nearest to an exact amount of pico-USD, in USD. */
export function picoToUsdNumber(pico: bigint): number {
  return Number(picoToUsdText(pico))
}

const PICO_PLACES = 12

/** An amount of pico-USD as an exact decimal in USD, without trailing zeros: `0.0375`, `-12`. */
export function picoToUsdText(pico: bigint): string {
  const sign = pico < 0n ? '-' : ''
  const digits = `${pico < 0n ? -pico : pico}`.padStart(PICO_PLACES + 1, '0')
  const fraction = digits.slice(-PICO_PLACES).replace(/0+$/, '')
  return `${sign}${digits.slice(0, -PICO_PLACES)}${fraction === '' ? '' : `.${fraction}`}`
}
