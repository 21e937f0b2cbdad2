import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { buildCatalog, type Catalog } from '../../pricing/catalog/catalog.ts'
import { PRICES_OF } from '../../pricing/catalog/catalog-providers.ts'
import type { PricesInForce } from '../../pricing/operations/prices-in-force.ts'
import { parseOverrides, type WrittenEntry } from '../../pricing/overrides/price-overrides-parse.ts'
import { placeOfUpstream, placesOfUpstreams } from '../../pricing/places/upstream-places.ts'
import type { PricedUpstream, PriceSettings } from '../../pricing/price-configuration.ts'
import { type PriceMarkup, parseMarkups } from '../../pricing/price-markups.ts'
import { type RepricingSettings, settingsOf } from '../../pricing/repricing/repricing-scope.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import {
  type CurrentCatalog,
  type KeptElsewhere,
  NOTHING_KEPT,
  readCurrentCatalog,
} from '../current-catalog.ts'
import { type Environment, readVariable } from '../environment.ts'
import { ConfigError, messageOf, upstreamUrl } from '../variables.ts'
import { credentialFields, ownCredentialMarkups } from './credentials-config.ts'
import { pricesOfHost, providerOfHost, readEnvironmentUpstream, saysItsCost } from './upstream.ts'
import { deploymentShape, YamlSource } from './yaml-source.ts'

/** The prices of gateways with this configuration, for commands that show or use them. */
export interface PriceConfig {
  readonly catalog: Catalog
  readonly source: Pick<CurrentCatalog, 'entries' | 'text' | 'file'>
  readonly markups: readonly PriceMarkup[]
  readonly settings: RepricingSettings
  readonly upstreams: readonly PricedUpstream[]
}

/** Upstreams by name that use another provider's prices, as the catalog expects them. */
export function pricesOfUpstreams(
  upstreams: readonly { readonly name: string; readonly pricesOf: string | null }[],
): ReadonlyMap<string, string> {
  return new Map(
    upstreams.flatMap(({ name, pricesOf }): [string, string][] =>
      pricesOf === null ? [] : [[name, pricesOf]],
    ),
  )
}

/** What pricing needs of an upstream, without what the gateway needs to call it. */
const upstreamShape = z.looseObject({
  name: z.string(),
  url: upstreamUrl.optional(),
  provider: z.enum(PROVIDERS).optional(),
  trust_reported_cost: z.boolean().optional(),
  prices_of: z.enum(PRICES_OF).optional(),
  deployment: deploymentShape.optional(),
  credentials: credentialFields.credentials,
})

/**
 * The prices of the environment and the YAML file, without what only a gateway needs.
 * @param stored Price data of Postgres, which takes precedence over this machine's.
 * @throws {ConfigError} With every problem.
 */
export function loadPriceConfig(env: Environment, stored: KeptElsewhere = NOTHING_KEPT): PriceConfig {
  const problems: string[] = []
  const fileName = readVariable(env, 'TALLYGATE_CONFIG')
  const yaml = new YamlSource(readText(fileName, problems), fileName ?? '', problems)
  const fromFile = yaml.parseEach(upstreamShape, 'upstreams') ?? []
  const fromEnvironment = readEnvironmentUpstream(env, problems)
  const written = [
    ...(fromEnvironment === null ? [] : [fromEnvironment]),
    ...fromFile.map((upstream) => {
      const host = upstream.url?.host ?? ''
      const provider = upstream.provider ?? providerOfHost(host)
      return {
        name: upstream.name,
        provider,
        pricesOf: upstream.prices_of ?? pricesOfHost(provider, host),
        place: upstream.prices_of === undefined ? placeOfUpstream(provider, host, upstream.deployment) : null,
        trustReportedCost: upstream.trust_reported_cost ?? saysItsCost(host),
      }
    }),
  ]
  const places = placesOfUpstreams(written)
  const upstreams: PricedUpstream[] = written.map(({ name, provider, pricesOf, trustReportedCost }) => ({
    name,
    provider,
    pricesOf,
    trustReportedCost,
  }))
  const names = upstreams.map(({ name }) => name)
  const prices = yaml.textEntries('prices')
  const markups = [...yaml.textEntries('markups'), ...ownCredentialMarkups(fromFile)]
  const parsed = { prices: parseOverrides(prices, names), markups: parseMarkups(markups, names) }
  for (const { line, what } of parsed.prices.problems) yaml.report(line, `prices: ${what}`)
  for (const { line, what } of parsed.markups.problems) yaml.report(line, `markups: ${what}`)
  if (problems.length > 0) throw new ConfigError(problems)

  const source = readCurrentCatalog(readVariable(env, 'TALLYGATE_DATA_DIR') ?? '', stored)
  const catalog = buildCatalog({
    entries: source.entries,
    overrides: parsed.prices.overrides,
    markups: parsed.markups.markups,
    trustedUpstreams: trustedOf(upstreams),
    pricesOf: pricesOfUpstreams(upstreams),
    places,
  })
  const settings = settingsOf(prices, markups, names, pricesOfUpstreams(upstreams), places)
  return { catalog, source, markups: parsed.markups.markups, settings, upstreams }
}

/**
 * The prices of a configuration that a gateway recorded.
 *
 * @throws {Error} when the settings are not those of a gateway.
 */
export function buildPriceConfig(
  source: Pick<CurrentCatalog, 'entries' | 'text'>,
  { prices, markups, pricesOf = {}, places = {} }: PriceSettings,
  upstreams: readonly PricedUpstream[],
): PriceConfig {
  // A release that recorded no upstreams had them all the same, or the gateway would not have started.
  const named = [...prices, ...markups].flatMap(({ upstream }) =>
    upstream === undefined ? [] : [`${upstream}`],
  )
  const names = [...new Set([...upstreams.map(({ name }) => name), ...Object.keys(pricesOf), ...named])]
  const parsed = { prices: parseOverrides(prices, names), markups: parseMarkups(markups, names) }
  const first = [...parsed.prices.problems, ...parsed.markups.problems][0]
  if (first !== undefined) throw new Error(`the prices of a gateway cannot be read: ${first.what}`)
  const whose = new Map(Object.entries(pricesOf))
  const catalog = buildCatalog({
    entries: source.entries,
    overrides: parsed.prices.overrides,
    markups: parsed.markups.markups,
    trustedUpstreams: trustedOf(upstreams),
    pricesOf: whose,
    places: new Map(Object.entries(places)),
  })
  const settings = settingsOf(prices, markups, names, whose, new Map(Object.entries(places)))
  return { catalog, source: { ...source, file: null }, markups: parsed.markups.markups, settings, upstreams }
}

/** What says which calls a price is for. */
const OF_CALLS = ['model', 'provider', 'upstream', 'service_tier', 'from'] as const

/** As `PricePorts.addOwnPrices`. */
export function addOwnPrices(
  { source, settings, upstreams }: PricesInForce['config'],
  text: string,
): Catalog | readonly string[] {
  const problems: string[] = []
  const yaml = new YamlSource(text, 'prices', problems)
  const added = yaml.textEntries('prices')
  const names = upstreams.map(({ name }) => name)
  for (const { line, what } of parseOverrides(added, names).problems) yaml.report(line, what)
  if (added.length === 0)
    problems.push('there is no list of prices, such as prices: [{ model: gpt-4o, input: 2 }]')
  if (problems.length > 0) return problems
  const key = (entry: WrittenEntry) => JSON.stringify(OF_CALLS.map((field) => entry[field] ?? null))
  const isAdded = new Set(added.map(key))
  const prices = [...added, ...settings.prices.filter((entry) => !isAdded.has(key(entry)))]
  return buildPriceConfig(source, { ...settings, prices }, upstreams).catalog
}

function trustedOf(upstreams: readonly PricedUpstream[]): readonly string[] {
  return upstreams.filter(({ trustReportedCost }) => trustReportedCost).map(({ name }) => name)
}

function readText(fileName: string | null, problems: string[]): string {
  if (fileName === null) return ''
  try {
    return readFileSync(fileName, 'utf8')
  } catch (error) {
    problems.push(`TALLYGATE_CONFIG: cannot read ${fileName}: ${messageOf(error)}`)
    return ''
  }
}
