import { type Decimal, decimalText, multiply, ONE, parseDecimal } from '#prices/decimal.ts'
import { isDay, type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import type { PriceProblem, WrittenEntry } from './overrides/price-overrides-parse.ts'

/** A factor on every price of some calls: above 1 a markup, below 1 a discount. */
export interface PriceMarkup {
  /** Only this client's calls; `null`: all clients'. */
  readonly client: string | null
  /** Only calls at the upstream of this name; `null`: at all of them. */
  readonly upstream: string | null
  /** The first UTC day; `null`: every day. Until the next for the same client and upstream. */
  readonly from: UtcDay | null
  readonly factor: Decimal
  readonly line: number
}

/** A factor and its text in shortest form, which stands in a price's definition. */
export interface Factor {
  readonly value: Decimal
  readonly text: string
}

const MAX_FACTOR: Decimal = { digits: 1000n, scale: 0 }

/** Reads the configuration's `markups`, as `parseOverrides` reads its prices. */
export function parseMarkups(
  written: readonly WrittenEntry[],
  upstreams: readonly string[],
): { readonly markups: readonly PriceMarkup[]; readonly problems: readonly PriceProblem[] } {
  const problems: PriceProblem[] = []
  const markups: PriceMarkup[] = []
  const lines = new Map<string, number>()
  for (const entry of written) {
    const before = problems.length
    const report = (what: string) => void problems.push({ line: entry.line, what })
    const { line, client, upstream, from, factor, ...unknown } = entry
    for (const field of Object.keys(unknown)) report(`${field}: is not a field of a markup`)
    for (const [field, name] of Object.entries({ client, upstream })) {
      if (name !== undefined && (typeof name !== 'string' || name === '')) report(`${field}: is not a name`)
    }
    if (typeof upstream === 'string' && !upstreams.includes(upstream)) report(`no such upstream: ${upstream}`)
    if (from !== undefined && !isDay(`${from}`)) report(`from ${from}: is not a day such as 2026-01-31`)
    const value = parseDecimal(String(factor ?? ''))
    if (value === null || value.digits > MAX_FACTOR.digits * 10n ** BigInt(value.scale)) {
      report(`factor ${factor ?? ''}: is not a decimal number from 0 to ${decimalText(MAX_FACTOR)}, as '1.2'`)
    }
    const key = JSON.stringify([client, upstream, from])
    const same = lines.get(key)
    if (same === undefined) lines.set(key, line)
    else report(`is for the same calls${from === undefined ? '' : ' from the same day'} as line ${same}`)
    if (value === null || problems.length > before) continue
    markups.push({
      ...{ client: nameOrNull(client), upstream: nameOrNull(upstream), from: nameOrNull(from) },
      ...{ factor: value, line },
    })
  }
  const isOwn = (one: PriceMarkup) => one.client === null && one.upstream !== null && one.from === null
  for (const markup of markups) {
    const free = markups.find((one) => isOwn(one) && one.factor.digits === 0n && isSameCalls(one, markup))
    if (free === undefined || free === markup) continue
    const what = `is for the same calls as line ${free.line}, which are free on every day`
    problems.push({ line: markup.line, what })
  }
  return { markups, problems }
}

function nameOrNull(name: string | number | undefined): string | null {
  return typeof name === 'string' ? name : null
}

export const NO_FACTOR: Factor = { value: ONE, text: '1' }

/**
 * The factor for the calls of a client at an upstream at a moment: all markups for them, multiplied. Of those for the
 * same client and upstream the latest holds. A `null` client is none that a markup names.
 */
export function findFactors(
  markups: readonly PriceMarkup[],
): (clientName: string | null, upstream: string, atMs: number) => Factor {
  if (markups.length === 0) return () => NO_FACTOR
  const named = new Set(markups.flatMap(({ client }) => client ?? []))
  const starts = [...new Set(markups.flatMap(({ from }) => from ?? []))].sort()
  const startsMs = starts.map((day) => Date.parse(`${day}T00:00:00Z`))
  // As many entries as clients, upstreams and days that the configuration names, so it stays small.
  const known = new Map<string, Factor>()
  return (clientName, upstream, atMs) => {
    const client = clientName !== null && named.has(clientName) ? clientName : null
    const begun = startsMs.findLastIndex((startMs) => startMs <= atMs)
    const key = JSON.stringify([client, upstream, begun])
    const factor = known.get(key) ?? multiplyAll(markups, client, upstream, utcDayOf(atMs))
    known.set(key, factor)
    return factor
  }
}

function multiplyAll(
  markups: readonly PriceMarkup[],
  client: string | null,
  upstream: string,
  day: UtcDay,
): Factor {
  const fitting = markups
    .filter((markup) => markup.client === null || markup.client === client)
    .filter((markup) => markup.upstream === null || markup.upstream === upstream)
    .filter(({ from }) => from === null || from <= day)
  const value = fitting
    .filter(
      (one) => !fitting.some((other) => isSameCalls(one, other) && (one.from ?? '') < (other.from ?? '')),
    )
    .map(({ factor }) => factor)
    .reduce(multiply, ONE)
  return { value, text: decimalText(value) }
}

function isSameCalls(one: PriceMarkup, other: PriceMarkup): boolean {
  return one.client === other.client && one.upstream === other.upstream
}
