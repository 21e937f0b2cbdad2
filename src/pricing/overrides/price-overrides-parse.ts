import { type Decimal, decimalText, parseDecimal } from '#prices/decimal.ts'
import { isDay } from '../../domain/utc-day.ts'
import { PRICED_PROVIDERS } from '../catalog/catalog-providers.ts'
import { picoPerOne } from '../catalog/catalog-rates.ts'
import {
  type ModelPattern,
  OVERRIDE_FIELDS,
  type OverrideField,
  type PriceOverride,
} from './price-overrides.ts'

/** An entry of the configuration's list as written: plain text by field, and the line it begins at. */
export interface WrittenEntry {
  readonly line: number
  readonly [field: string]: string | number
}

/** What is wrong with an entry, at its line of the file. */
export interface PriceProblem {
  readonly line: number
  readonly what: string
}

const NAME_FIELDS: readonly string[] = ['model', 'provider', 'upstream', 'service_tier', 'from']

/** A dollar for one token: far above any price, far below what arithmetic or a column could not hold. */
const MAX_USD: Decimal = { digits: 1_000_000_000n, scale: 0 }

/**
 * Reads the configuration's `prices`. Every problem of every entry is reported; entries that have one are left out.
 *
 * `upstreams`: the names there are, so that a price for none of them is noticed.
 */
export function parseOverrides(
  written: readonly WrittenEntry[],
  upstreams: readonly string[],
): { readonly overrides: readonly PriceOverride[]; readonly problems: readonly PriceProblem[] } {
  const problems: PriceProblem[] = []
  const overrides: PriceOverride[] = []
  const lines = new Map<string, number>()
  for (const entry of written) {
    const before = problems.length
    const report = (what: string) => void problems.push({ line: entry.line, what })
    const override = parseOverride(entry, upstreams, report)
    const { model, provider, upstream, serviceTier, from } = override
    const key = JSON.stringify([model, provider, upstream, serviceTier, from])
    const line = lines.get(key)
    if (line === undefined) lines.set(key, entry.line)
    else report(`prices the same calls from the same day as line ${line}`)
    if (problems.length === before) overrides.push(override)
  }
  return { overrides, problems }
}

type Report = (what: string) => void

function parseOverride(entry: WrittenEntry, upstreams: readonly string[], report: Report): PriceOverride {
  const { model, provider, upstream, service_tier: serviceTier, from } = textFields(entry, report)
  if (model === undefined || model === '') report('has no model: say which one this is the price of')
  else if (model.slice(0, -1).includes('*')) report(`model ${model}: '*' may only stand at the end`)
  if (provider !== undefined && !PRICED_PROVIDERS.includes(provider)) report(`no such provider: ${provider}`)
  if (upstream !== undefined && !upstreams.includes(upstream)) report(`no such upstream: ${upstream}`)
  if (serviceTier !== undefined && !/^[a-z0-9._+-]{1,40}$/.test(serviceTier)) {
    report(`service_tier ${serviceTier}: up to 40 of a-z, 0-9, '.', '_', '-' and '+'`)
  }
  if (from !== undefined && !isDay(from)) report(`from ${from}: is not a day such as 2026-01-31`)
  return {
    model: model ?? '',
    pattern: patternOf(model ?? ''),
    provider: provider ?? null,
    upstream: upstream ?? null,
    serviceTier: serviceTier ?? null,
    from: from ?? null,
    prices: parsePrices(entry, report),
    line: entry.line,
  }
}

function patternOf(model: string): ModelPattern {
  return model.endsWith('*') ? { kind: 'prefix', prefix: model.slice(0, -1) } : { kind: 'exact', name: model }
}

function textFields(entry: WrittenEntry, report: Report): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {}
  for (const [field, value] of Object.entries(entry)) {
    if (field === 'line') continue
    const known =
      NAME_FIELDS.includes(field) || OVERRIDE_FIELDS.some((candidate) => candidate.field === field)
    if (!known) report(`${field}: is not a field of a price`)
    else if (typeof value !== 'string') report(`${field}: write it in quotes`)
    else texts[field] = value
  }
  return texts
}

function parsePrices(entry: WrittenEntry, report: Report): ReadonlyMap<OverrideField, Decimal> {
  const prices = new Map<OverrideField, Decimal>()
  for (const { field, per, partOf } of OVERRIDE_FIELDS) {
    const text = entry[field]
    if (typeof text !== 'string') continue
    if (partOf !== null && entry[partOf] === undefined)
      report(`${field} needs ${partOf}: it is a part of that`)
    const price = parsePrice(text, field, per, report)
    if (price !== null) prices.set(field, price)
  }
  if (!OVERRIDE_FIELDS.some(({ field }) => entry[field] !== undefined)) {
    report("has no price: write '0' for what is free")
  }
  return prices
}

function parsePrice(text: string, field: string, per: bigint, report: Report): Decimal | null {
  if (/^-[0-9.]+$/.test(text)) {
    report(`${field} ${text}: is negative`)
    return null
  }
  const price = parseDecimal(text)
  if (price === null) {
    report(`${field} ${text}: is not a plain decimal number of US dollars such as '0.15'`)
    return null
  }
  if (price.digits > MAX_USD.digits * 10n ** BigInt(price.scale)) {
    report(`${field} ${text}: is more than ${decimalText(MAX_USD)}`)
    return null
  }
  if (price.digits > 0n && picoPerOne(price, per) === 0n) {
    report(`${field} ${text}: is less than the smallest price, 0.000000000001 US dollars for one`)
    return null
  }
  return price
}
