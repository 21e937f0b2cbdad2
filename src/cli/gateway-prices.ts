import { BUNDLED_SOURCE, bundledText } from '#prices/bundled-lists.ts'
import type { Environment } from '../config/config.ts'
import { buildPriceConfig, loadPriceConfig, type PriceConfig } from '../config/yaml/price-config.ts'
import { Failure } from '../operations/failure.ts'
import type { PricesInForce } from '../pricing/operations/prices-in-force.ts'
import { buildPriceConfiguration, nameConfiguration } from '../pricing/price-configuration.ts'
import {
  findCatalogText,
  type GatewayPrices,
  selectGatewayPrices,
} from '../pricing/refresh/gateway-prices.ts'
import { findCurrentPriceCatalog, findPriceCatalog } from '../pricing/refresh/price-catalogs.ts'
import { readStored, type StoredPrices } from '../pricing/refresh/stored-prices.ts'
import { bundledEntries } from '../pricing/sources/catalog-bundle.ts'
import { catalogOfText } from '../pricing/sources/catalog-file.ts'
import type { PriceCatalogKind } from '../pricing/sources/price-catalog-source.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { configurationGiven, configurationNamed, hasOwnConfig } from './own-prices.ts'

/** Which prices a command uses, where its options say. */
export interface PriceOptions {
  readonly gateway?: string
  /** Those of the command's own TALLYGATE_CONFIG. */
  readonly configDiffersOnPurpose?: boolean
  /**
   * A command that corrects money must not silently use other prices than the gateways. Without
   * TALLYGATE_CONFIG it has no prices or markups, which is a configuration of its own.
   */
  readonly mustNamePrices?: boolean
}

/**
 * The prices of the running gateways, so that every command reports the same price. The command's own prices
 * are used where no gateway ever ran, or no database is named.
 *
 * @param pool `null`: no database is named.
 * @param order Of a command that changes something by them.
 * @throws {Failure} Where the command's own configuration differs, or the gateways differ from each other,
 * and no option decides.
 */
export async function findPrices(
  pool: Postgres | null,
  env: Environment,
  options: PriceOptions,
  order?: Pick<PriceOptions, 'mustNamePrices'>,
): Promise<PricesInForce> {
  try {
    if (pool !== null) return await findPricesInForce(pool, env, { ...options, ...order })
  } catch (error) {
    const isRefused = order !== undefined && error instanceof Failure
    throw isRefused ? new Failure(`nothing is changed: ${error.message}`) : error
  }
  if (options.gateway !== undefined) throw new Failure('--gateway needs the database of the gateways')
  return ownPrices(loadPriceConfig(env))
}

async function findPricesInForce(
  pool: Postgres,
  env: Environment,
  options: PriceOptions,
): Promise<PricesInForce> {
  const own = loadPriceConfig(env, await findStored(pool))
  const all = await selectGatewayPrices(pool)
  if (options.gateway !== undefined) {
    const named = all.filter(({ gateway }) => gateway === options.gateway)
    if (named.length > 0) return await pricesOf(pool, env, own, named)
    throw new Failure(`no gateway ${options.gateway} has recorded its prices; ${listGateways(all)}`)
  }
  const [first] = all
  if (first === undefined) return ownPrices(own)
  const hasOwn = hasOwnConfig(env)
  const theirs = all.every(({ configuration }) => configuration.hash === first.configuration.hash)
  const onPurpose = options.configDiffersOnPurpose === true
  if (!theirs) {
    if (onPurpose && hasOwn) return ownPrices(own)
    throw new Failure(
      `the gateways do not price alike: ${nameGateways(all)}. Send SIGHUP to those that read theirs before, or say which one is right with --gateway NAME`,
    )
  }
  const mustName = options.mustNamePrices === true
  const configuration = mustName
    ? configurationNamed(own, first.configuration)
    : configurationGiven(env, own, first.configuration)
  if (configuration.hash === first.configuration.hash) return await pricesOf(pool, env, own, all)
  if (!onPurpose) {
    throw new Failure(
      `${nameGateways(all)}; this command by ${nameConfiguration(configuration)}. ${wayOut(all, mustName)}, or say --config-differs-on-purpose to price by your own`,
    )
  }
  if (hasOwn && own.source.entries.source === configuration.catalog) return ownPrices(own)
  const source = await findCatalog(pool, own, configuration.catalog)
  const upstreams = hasOwn ? own.upstreams : first.upstreams
  return {
    config: buildPriceConfig(source, configuration.settings, upstreams),
    configuration,
    gateways: [],
    hasLines: false,
  }
}

function wayOut([first]: readonly GatewayPrices[], mustName: boolean): string {
  if (!mustName) return 'Leave TALLYGATE_CONFIG unset to price as the gateways do'
  return `Say --gateway ${first?.gateway} to price as the gateways do`
}

/** The prices that a gateway would have if it started now. */
async function findStored(pool: Postgres): Promise<StoredPrices> {
  const read = async (kind: PriceCatalogKind) => {
    const stored = await findCurrentPriceCatalog(pool, kind)
    return stored === null ? null : readStored(stored)
  }
  return {
    'genai-prices': await read('genai-prices'),
    'models.dev': await read('models.dev'),
    litellm: await read('litellm'),
    azure: await read('azure'),
  }
}

function ownPrices(config: PriceConfig): PricesInForce {
  const configuration = buildPriceConfiguration(config.source.entries.source, config.settings)
  return { config, configuration, gateways: [], hasLines: true }
}

/** @param gateways At least one, all of one configuration. */
async function pricesOf(
  pool: Postgres,
  env: Environment,
  own: PriceConfig,
  gateways: readonly GatewayPrices[],
): Promise<PricesInForce> {
  const [first] = gateways
  if (first === undefined) throw new Error('no gateway is named')
  const { configuration } = first
  const names = gateways.map(({ gateway }) => gateway)
  const mine = ownPrices(own)
  // The same, with line numbers of a file that exists.
  if (hasOwnConfig(env) && mine.configuration.hash === configuration.hash) {
    return { ...mine, gateways: names }
  }
  const source = await findCatalog(pool, own, configuration.catalog)
  const recorded = gateways.flatMap(({ upstreams }) => upstreams)
  const byName = new Map(
    (recorded.length === 0 ? own.upstreams : recorded).map((upstream) => [upstream.name, upstream]),
  )
  const config = buildPriceConfig(source, configuration.settings, [...byName.values()])
  return { config, configuration, gateways: names, hasLines: false }
}

async function findCatalog(
  pool: Postgres,
  { source: own }: PriceConfig,
  source: string,
): Promise<Pick<PriceConfig['source'], 'entries' | 'text'>> {
  if (own.entries.source === source) return own
  if (source === BUNDLED_SOURCE) return { entries: bundledEntries(), text: bundledText }
  const text = (await findCatalogText(pool, source)) ?? (await findPriceCatalog(pool, source))?.text ?? null
  if (text !== null) return { entries: catalogOfText(source, text), text: () => text }
  throw new Failure(
    `the gateways price by the catalog ${source}, which is neither here nor in Postgres; start a gateway of this release, which records it`,
  )
}

function nameGateways(gateways: readonly GatewayPrices[]): string {
  return gateways
    .map(({ gateway, configuration }) => `gateway ${gateway} prices by ${nameConfiguration(configuration)}`)
    .join('; ')
}

function listGateways(gateways: readonly GatewayPrices[]): string {
  if (gateways.length === 0) return 'none ever ran on this database'
  return `there are ${gateways.map(({ gateway }) => gateway).join(', ')}`
}
