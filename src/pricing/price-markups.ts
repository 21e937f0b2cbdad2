import { type Decimal, decimalText, multiply, ONE, parseDecimal } from '../domain/decimal.ts'
import type { PriceProblem, WrittenEntry } from './overrides/price-overrides-parse.ts'

/** A factor on every price of some calls: above 1 a markup, below 1 a discount. */
export interface PriceMarkup {
  /** Only this client's calls; `null`: all clients'. */
  readonly client: string | null
  /** Only calls at the upstream of this name; `null`: at all of them. */
  readonly upstream: string | null
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
    const { line, client, upstream, factor, ...unknown } = entry
    for (const field of Object.keys(unknown)) report(`${field}: is not a field of a markup`)
    for (const [field, name] of Object.entries({ client, upstream })) {
      if (name !== undefined && (typeof name !== 'string' || name === '')) report(`${field}: is not a name`)
    }
    if (typeof upstream === 'string' && !upstreams.includes(upstream)) report(`no such upstream: ${upstream}`)
    const value = parseDecimal(String(factor ?? ''))
    if (value === null || value.digits > MAX_FACTOR.digits * 10n ** BigInt(value.scale)) {
      report(`factor ${factor ?? ''}: is not a decimal number from 0 to ${decimalText(MAX_FACTOR)}, as '1.2'`)
    }
    const key = JSON.stringify([client, upstream])
    const same = lines.get(key)
    if (same === undefined) lines.set(key, line)
    else report(`is for the same calls as line ${same}`)
    if (value === null || problems.length > before) continue
    markups.push({ client: nameOrNull(client), upstream: nameOrNull(upstream), factor: value, line })
  }
  return { markups, problems }
}

function nameOrNull(name: string | number | undefined): string | null {
  return typeof name === 'string' ? name : null
}

export const NO_FACTOR: Factor = { value: ONE, text: '1' }

/**
 * The factor for the calls of a client at an upstream: all markups for them, multiplied. A `null` client is none
 * that a markup names.
 */
export function findFactors(
  markups: readonly PriceMarkup[],
): (clientName: string | null, upstream: string) => Factor {
  if (markups.length === 0) return () => NO_FACTOR
  const named = new Set(markups.flatMap(({ client }) => client ?? []))
  // As many entries as clients and upstreams that the configuration names, so it stays small.
  const known = new Map<string, Factor>()
  return (clientName, upstream) => {
    const client = clientName !== null && named.has(clientName) ? clientName : null
    const key = JSON.stringify([client, upstream])
    const factor = known.get(key) ?? multiplyAll(markups, client, upstream)
    known.set(key, factor)
    return factor
  }
}

function multiplyAll(markups: readonly PriceMarkup[], client: string | null, upstream: string): Factor {
  const value = markups
    .filter((markup) => markup.client === null || markup.client === client)
    .filter((markup) => markup.upstream === null || markup.upstream === upstream)
    .map(({ factor }) => factor)
    .reduce(multiply, ONE)
  return { value, text: decimalText(value) }
}
