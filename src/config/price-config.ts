import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { PROVIDERS } from '../dialects/dialect.ts'
import { buildCatalog, type Catalog } from '../domain/catalog.ts'
import { type PriceMarkup, parseMarkups } from '../domain/price-markups.ts'
import { parseOverrides } from '../domain/price-overrides-parse.ts'
import { type RepricingSettings, settingsOf } from '../domain/repricing.ts'
import { ConfigError, reasonOf } from './config-error.ts'
import { type CurrentCatalog, readCurrentCatalog } from './current-catalog.ts'
import { type Environment, readVariable } from './environment.ts'
import { readEnvironmentUpstream } from './environment-upstream.ts'
import { providerOfHost } from './provider-hosts.ts'
import { upstreamUrl } from './variables.ts'
import { YamlSource } from './yaml-source.ts'

/** Prices as the gateways of this configuration have them, for those who look at them from outside. */
export interface PriceConfig {
  readonly catalog: Catalog
  readonly source: CurrentCatalog
  readonly markups: readonly PriceMarkup[]
  readonly settings: RepricingSettings
  /** The upstreams whose prices are asked for. */
  readonly upstreams: readonly PricedUpstream[]
}

export interface PricedUpstream {
  readonly name: string
  readonly provider: string
}

/** What prices need to know of an upstream; whether it can be called is the gateway's to say. */
const upstreamShape = z.looseObject({
  name: z.string(),
  url: upstreamUrl.optional(),
  provider: z.enum(PROVIDERS).optional(),
  trust_reported_cost: z.boolean().default(false),
})

/**
 * The prices of the environment and the YAML file it names, without what only a gateway needs.
 *
 * @throws {ConfigError} with every problem.
 */
export function loadPriceConfig(env: Environment): PriceConfig {
  const problems: string[] = []
  const fileName = readVariable(env, 'TALLYGATE_CONFIG')
  const yaml = new YamlSource(readText(fileName, problems), fileName ?? '', problems)
  const fromFile = yaml.parseEach(upstreamShape, 'upstreams') ?? []
  const fromEnvironment = readEnvironmentUpstream(env, problems)
  const upstreams: PricedUpstream[] = [
    ...(fromEnvironment === null ? [] : [fromEnvironment]),
    ...fromFile.map(({ name, provider, url }) => ({
      name,
      provider: provider ?? providerOfHost(url?.host ?? ''),
    })),
  ].map(({ name, provider }) => ({ name, provider }))
  const names = upstreams.map(({ name }) => name)
  const prices = yaml.textEntries('prices')
  const markups = yaml.textEntries('markups')
  const parsed = { prices: parseOverrides(prices, names), markups: parseMarkups(markups, names) }
  for (const { line, what } of parsed.prices.problems) yaml.report(line, `prices: ${what}`)
  for (const { line, what } of parsed.markups.problems) yaml.report(line, `markups: ${what}`)
  if (problems.length > 0) throw new ConfigError(problems)

  const source = readCurrentCatalog(readVariable(env, 'TALLYGATE_DATA_DIR') ?? '')
  const catalog = buildCatalog({
    entries: source.entries,
    overrides: parsed.prices.overrides,
    markups: parsed.markups.markups,
    trustedUpstreams: fromFile.filter((upstream) => upstream.trust_reported_cost).map(({ name }) => name),
  })
  const settings = settingsOf(prices, markups, names)
  return { catalog, source, markups: parsed.markups.markups, settings, upstreams }
}

function readText(fileName: string | null, problems: string[]): string {
  if (fileName === null) return ''
  try {
    return readFileSync(fileName, 'utf8')
  } catch (error) {
    problems.push(`TALLYGATE_CONFIG: cannot read ${fileName}: ${reasonOf(error)}`)
    return ''
  }
}
