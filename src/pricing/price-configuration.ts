import { createHash } from 'node:crypto'
import type { RepricingSettings } from './repricing/repricing-scope.ts'

/**
 * All that decides what a call costs, apart from its upstream's reported cost: two that price alike have one
 * hash.
 */
export interface PriceConfiguration {
  /** 16 hexadecimal digits. */
  readonly hash: string
  /** Names the catalog and its version, e.g. `genai-prices@0.1.8`. */
  readonly catalog: string
  readonly settings: PriceSettings
}

/** Without the names of upstreams: that there is one more changes no price. */
export type PriceSettings = Omit<RepricingSettings, 'upstreams'>

/** What prices need to know of an upstream: no address, no credential. */
export interface PricedUpstream {
  readonly name: string
  readonly provider: string
  /** One of `PRICES_OF`; `null`: the prices of its provider. */
  readonly pricesOf: string | null
  /** Whether the cost that the upstream reports is the cost. */
  readonly trustReportedCost: boolean
}

const HASH_DIGITS = 16

export function buildPriceConfiguration(catalog: string, settings: RepricingSettings): PriceConfiguration {
  const { upstreams: _, ...own } = settings
  const json = configurationJson({ catalog, settings: own })
  const hash = createHash('sha256').update(json).digest('hex').slice(0, HASH_DIGITS)
  return { hash, catalog, settings: own }
}

/** The same configuration has the same text, in whatever order an entry names its fields. */
export function configurationJson({
  catalog,
  settings,
}: Pick<PriceConfiguration, 'catalog' | 'settings'>): string {
  const { prices, markups, pricesOf = {}, places } = settings
  return JSON.stringify({
    catalog,
    prices: prices.map(sorted),
    markups: markups.map(sorted),
    pricesOf: sorted(pricesOf),
    // Left out where there are none, so that a configuration of before keeps its hash.
    ...(places === undefined ? {} : { places: sorted(places) }),
  })
}

function sorted(entry: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** In words: `1f3a9c2b7d5e4a60 (genai-prices@0.1.8, 2 prices, 1 markup)`. */
export function nameConfiguration({ hash, catalog, settings }: PriceConfiguration): string {
  const { prices, markups, pricesOf = {} } = settings
  const counts = [
    [prices.length, 'price'],
    [markups.length, 'markup'],
    [Object.keys(pricesOf).length, 'prices_of'],
  ] as const
  const said = counts.flatMap(([count, what]) =>
    count === 0 ? [] : [`${count} ${what}${count === 1 || what === 'prices_of' ? '' : 's'}`],
  )
  return `${hash} (${[catalog, ...(said.length === 0 ? ['no prices or markups of its own'] : said)].join(', ')})`
}
