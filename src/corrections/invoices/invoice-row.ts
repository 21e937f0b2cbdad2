import { type Decimal, scaleToInteger } from '#prices/decimal.ts'
import { isDay, type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { Provider } from '../../providers/registry.ts'

/** Who sends invoices, and which of our providers its calls are totalled under. */
export const BILLERS = {
  openai: ['openai'],
  anthropic: ['anthropic'],
  aws: ['bedrock'],
  azure: ['azure-openai', 'azure-ai'],
  google: ['vertex', 'gemini'],
} as const satisfies Readonly<Record<string, readonly Provider[]>>

export type Biller = keyof typeof BILLERS

export const BILLER_NAMES = Object.keys(BILLERS) as readonly Biller[]

/** What a row is for. All but `usage` are charges beside calls. */
export const INVOICE_KINDS = ['usage', 'purchase', 'commitment', 'credit', 'tax', 'adjustment'] as const

export type InvoiceKind = (typeof INVOICE_KINDS)[number]

/** Classes of use that invoices keep apart. `search`: grounding, web searches and their like. */
export type InvoiceClass = 'input' | 'cache_read' | 'cache_write' | 'output' | 'search'

/** One row of an invoice, whichever format it came in. `null`: the invoice does not say. */
export interface InvoiceRow {
  readonly biller: Biller
  readonly day: UtcDay
  /** What it is for, in the words of the invoice: a model, a meter, a tax. */
  readonly service: string
  readonly kind: InvoiceKind
  readonly class: InvoiceClass | null
  /** `standard`, `batch`, `flex` and so on. */
  readonly tier: string | null
  /** Where the call was served: `global`, a region, a zone. */
  readonly place: string | null
  /** The key, project, workspace or account that used it. */
  readonly account: string | null
  /** The id by which the answer named itself. */
  readonly responseId: string | null
  /** Millionths of a unit: a token, a search, an hour. */
  readonly quantityMicro: bigint | null
  readonly unit: string | null
  /** 1e-12 USD. */
  readonly amountPico: bigint
  /** So far the amount may be off by having been rounded before it was written; 1e-12 USD. */
  readonly roundingPico: bigint
}

/** A row that cannot be taken. The message comes behind its line. */
export class BadRow extends Error {
  override readonly name = 'BadRow'
}

/** US dollars for one unit of other currencies. */
export type CurrencyRates = ReadonlyMap<string, Decimal>

const PICO = 1_000_000_000_000n
const MICRO = 1_000_000n
/** No invoice has more, and sums of more would not fit where they are kept. */
const MOST_PICO = 10n ** 15n * PICO
const MOST_MICRO = 10n ** 22n * MICRO
/** What is written in whole dollars need not have been rounded to dollars. */
const MOST_ROUNDING_PICO = 5_000_000_000n

interface Signed extends Decimal {
  readonly sign: 1n | -1n
}

/** Decimal text with a sign and an exponent, as spreadsheets and programs write numbers. `null`: it is none. */
function parseSigned(text: string): Signed | null {
  const [, minus, whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)([0-9]{0,20})(?:\.([0-9]{0,40}))?(?:[eE]([+-]?[0-9]{1,2}))?$/.exec(text.trim()) ?? []
  if (minus === undefined || whole + fraction === '') return null
  const scale = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  const sign = minus === '-' ? -1n : 1n
  return scale >= 0 ? { sign, digits, scale } : { sign, digits: digits * 10n ** BigInt(-scale), scale: 0 }
}

/**
 * An amount of money as pico-USD.
 *
 * @param perUnit What one unit of the currency is in the written one: 1, or 100 for cents.
 * @throws {BadRow} It is no number, or of a currency without a rate.
 */
export function amountOf(
  text: string,
  currency: string,
  rates: CurrencyRates,
  perUnit = 1n,
): Pick<InvoiceRow, 'amountPico' | 'roundingPico'> {
  const amount = parseSigned(text)
  if (amount === null) throw new BadRow(`"${text.slice(0, 40)}" is not an amount`)
  const code = currency.trim().toUpperCase()
  const rate = code === 'USD' ? { digits: 1n, scale: 0 } : rates.get(code)
  if (rate === undefined)
    throw new BadRow(`the amount is in ${code === '' ? 'no currency' : code}, which has no rate to USD`)
  const scale = amount.scale + rate.scale
  const pico = scaleToInteger({ digits: amount.digits * rate.digits, scale }, PICO, perUnit)
  if (pico > MOST_PICO) throw new BadRow(`"${text.slice(0, 40)}" is not an amount that anybody pays`)
  const half = scaleToInteger({ digits: rate.digits, scale }, PICO, 2n * perUnit)
  return {
    amountPico: amount.sign * pico,
    roundingPico: half > MOST_ROUNDING_PICO ? MOST_ROUNDING_PICO : half < 1n ? 1n : half,
  }
}

/**
 * A quantity in millionths of one. `null`: there is none.
 *
 * @param unit Where it is thousands or millions of something, as in `1K tokens`, these are multiplied out.
 * @throws {BadRow} It is no number.
 */
export function quantityOf(text: string, unit = ''): bigint | null {
  if (text.trim() === '') return null
  const quantity = parseSigned(text)
  if (quantity === null) throw new BadRow(`"${text.slice(0, 40)}" is not a quantity`)
  const [, count = '1', letter = ''] = /^\s*([0-9]{1,9})\s*([kKmM]?)(?![a-z])/.exec(unit) ?? []
  const times = BigInt(count) * (letter === '' ? 1n : letter.toLowerCase() === 'k' ? 1_000n : MICRO)
  const micro = scaleToInteger(quantity, MICRO * times, 1n)
  if (micro > MOST_MICRO) throw new BadRow(`"${text.slice(0, 40)}" is not a quantity that anybody uses`)
  return quantity.sign * micro
}

/** The UTC day of a moment: ISO 8601, seconds since 1970, or MM/DD/YYYY. @throws {BadRow} It is none of these. */
export function dayOf(text: string): UtcDay {
  const written = text.trim()
  const [, month, day, year] = /^([0-9]{1,2})\/([0-9]{1,2})\/([0-9]{4})(?: |$)/.exec(written) ?? []
  const found =
    year !== undefined
      ? `${year}-${month?.padStart(2, '0')}-${day?.padStart(2, '0')}`
      : /^[0-9]{9,11}$/.test(written)
        ? utcDayOf(Number(written) * 1_000)
        : dayOfIso(written)
  if (!isDay(found)) throw new BadRow(`"${text.slice(0, 40)}" is not a day`)
  return found
}

/** Without an offset it is UTC. */
function dayOfIso(text: string): string {
  const [, day = '', time = '00:00:00', offset = ''] =
    /^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9:]{5,8})(?:\.[0-9]+)?)? ?(Z|UTC|[+-][0-9]{2}:?[0-9]{2})?$/.exec(
      text,
    ) ?? []
  if (!/^[+-]/.test(offset)) return day
  const zone = offset.length === 5 ? `${offset.slice(0, 3)}:${offset.slice(3)}` : offset
  const atMs = Date.parse(`${day}T${time}${zone}`)
  return Number.isNaN(atMs) ? '' : utcDayOf(atMs)
}
