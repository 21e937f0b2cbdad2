import { type Decimal, decimalOfText } from '#prices/decimal.ts'
import type { PriceDefinition } from '../price-definition.ts'
import { RATE_CLASSES } from '../price-rates.ts'

/** Rates are rounded to whole pico-dollars after the markup. */
const ROUNDING = 2n

/**
 * Whether two prices are of one list price, but for the markup: then a call that had the older one proves that the list
 * price held on its day.
 */
export function isSameList(old: PriceDefinition | null, now: PriceDefinition): boolean {
  if (old?.basis !== 'linear' || now.basis !== 'linear') return false
  const before = scaled(decimalOfText(old.factor))
  const after = scaled(decimalOfText(now.factor))
  return RATE_CLASSES.every((name) => {
    const [one, other] = [old.rates[name], now.rates[name]]
    if (one === undefined || other === undefined) return one === other
    const difference = one * after - other * before
    return (difference < 0n ? -difference : difference) <= ROUNDING * (before > after ? before : after)
  })
}

const DIGITS = 12

function scaled({ digits, scale }: Decimal): bigint {
  return scale > DIGITS ? digits / 10n ** BigInt(scale - DIGITS) : digits * 10n ** BigInt(DIGITS - scale)
}
