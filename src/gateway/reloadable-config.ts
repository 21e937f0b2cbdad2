import { NO_UNITS, NO_USAGE, type TokenUsage } from '../call/usage.ts'
import type { GatewayConfig } from '../config/config.ts'
import { readCurrentCatalog } from '../config/current-catalog.ts'
import { pricesOfUpstreams } from '../config/yaml/price-config.ts'
import type { UpstreamConfig } from '../config/yaml/upstream.ts'
import { picoToUsdNumber } from '../domain/pico-usd.ts'
import type { Logger } from '../lib/log.ts'
import { atMostEvery, type Gate } from '../lib/repeat.ts'
import type { ModelPlace } from '../litellm/compat/model-answer.ts'
import { buildCatalog, type Catalog } from '../pricing/catalog/catalog.ts'
import type { CatalogEntries } from '../pricing/catalog/catalog-entries.ts'
import { placesOfUpstreams } from '../pricing/places/upstream-places.ts'
import { buildPriceConfiguration } from '../pricing/price-configuration.ts'
import type { RecordedPrices } from '../pricing/refresh/gateway-prices.ts'
import { NO_STORED_PRICES, type StoredPrices } from '../pricing/refresh/stored-prices.ts'
import type { ApiFamily } from '../providers/provider.ts'
import type { CredentialReport } from '../store/processes/process-report.ts'
import { buildPathPolicy, type PathPolicy } from './admission/path-policy.ts'
import { type FetchedCredential, openCredential } from './credentials/fetched-credential.ts'
import { credentialHeader } from './proxy/headers/headers.ts'
import type { QuotingPricing } from './recording/pricing.ts'
import { buildPricing } from './recording/pricing.ts'
import { Circuits } from './routing/circuits.ts'
import { buildRouteTable, type RouteTableOptions as Routing } from './routing/model-routes.ts'
import {
  buildUpstreamTable,
  openPool,
  type RouteTarget,
  type Upstream,
  type UpstreamTable,
} from './routing/upstream-table.ts'
import { configuredModels, type ModelListing, watchUpstreamModels, withRoutes } from './upstream-models.ts'

const UNSERVED_EVERY_MS = 3_600_000

/** What one reading of the YAML file and of the price catalog decides. */
interface Reloadable {
  readonly upstreams: readonly Upstream[]
  readonly table: UpstreamTable
  readonly pathPolicy: PathPolicy
  readonly catalog: Catalog
  readonly entries: CatalogEntries
  readonly prices: RecordedPrices
  readonly pricing: QuotingPricing
  readonly listed: Listed
  readonly listing: ModelListing
}

/** Models that the configuration or an upstream lists. */
interface Listed {
  has(model: string): boolean
}

/**
 * Where calls go, what they cost, whose answers say so, and which models are shown. Read at the start and again at
 * SIGHUP. A call keeps the rules under which it began; only its price is found when it ends.
 */
export class ReloadableConfig {
  /** Of all upstreams, as calls by routes tell. */
  readonly circuits = new Circuits()
  readonly #routing: Routing = {
    circuits: this.circuits,
    quote: (target, clientName) => quoteTarget(this.pricing, target, clientName),
  }
  readonly #log: Logger
  #config: GatewayConfig
  #stored: StoredPrices
  #now: Reloadable

  /** @throws {ConfigError} when the catalog an operator gave cannot be read. */
  constructor(config: GatewayConfig, log: Logger, stored: StoredPrices = NO_STORED_PRICES) {
    this.#log = log
    this.#config = config
    this.#stored = stored
    this.#now = readReloadable(config, stored, log, this.#routing)
  }

  /** For the stages of a call. Stays the same object over reloads. */
  readonly table: UpstreamTable = tableOf(() => this.#now.table)
  readonly pathPolicy: PathPolicy = {
    permits: (caller, method, hasBody, route) => this.#now.pathPolicy.permits(caller, method, hasBody, route),
    allowsByName: (caller, method, route) => this.#now.pathPolicy.allowsByName(caller, method, route),
  }
  readonly pricing: QuotingPricing = pricingOf(() => this.#now.pricing)

  /** Clients and keys whose answers say what they cost; `null`: none. */
  get costInAnswers(): readonly string[] | null {
    return this.#config.costInAnswers ?? null
  }

  /** Prices calls now: another object after a reload, or once there is newer data. */
  get catalog(): Catalog {
    return this.#now.catalog
  }

  /** The same, for operators. */
  shownPrices() {
    const { catalog, prices, entries } = this.#now
    const { configuration, upstreams, catalogText } = prices
    const settings = this.#config.priceSettings
    return { config: { catalog, settings, upstreams, source: { entries, text: catalogText } }, configuration }
  }

  /** The prices that apply to calls now. */
  recordedPrices(): RecordedPrices {
    return this.#now.prices
  }

  /** How the credentials are that end. */
  reportCredentials(): CredentialReport[] {
    return this.#now.upstreams.flatMap(({ name, fetched }) =>
      fetched === null ? [] : [{ upstream: name, kind: fetched.kind, ...fetched.state() }],
    )
  }

  /** Where calls that name the model may go, the first place first, and what a token of a usual call costs there. */
  placesOf(model: string, clientName: string): readonly ModelPlace[] {
    const { table } = this.#now
    const served = table.choose({ model, family: null, path: '' })
    const alone = served === null ? [] : [{ upstream: served, model, weight: 1 }]
    return (table.routes?.find(model)?.targets ?? alone).map((target) => {
      const usd = (usage: Partial<TokenUsage>) =>
        usdEach(quoteTarget(this.pricing, target, clientName, { ...NO_USAGE, ...usage }))
      return {
        provider: target.upstream.provider,
        model: target.model,
        inputUsd: usd({ inputTokens: EACH_OF }),
        outputUsd: usd({ outputTokens: EACH_OF }),
        cacheReadUsd: usd({ inputTokens: EACH_OF, cacheReadTokens: EACH_OF }),
      }
    })
  }

  listModels(): ReturnType<ModelListing['list']> {
    return this.#now.listing.list()
  }

  /** Prices calls by newer data from now on. Nothing else changes. */
  takePrices(stored: StoredPrices): void {
    this.#now = { ...this.#now, ...readPrices(this.#config, stored, this.#now.listed) }
    this.#stored = stored
  }

  /**
   * Takes all of `config` or, when it throws, nothing. Running calls end on the connections that they have.
   */
  reload(config: GatewayConfig): void {
    const before = this.#now
    this.circuits.reset()
    this.#now = readReloadable(config, this.#stored, this.#log, this.#routing, before.upstreams)
    this.#config = config
    before.listing.stop()
    const stay = new Set(this.#now.upstreams.map(({ fetched }) => fetched))
    for (const { pool, fetched } of before.upstreams) {
      // A call that is routed already may go there at any time, at its last attempt: it keeps the rules that it began with.
      pool.retire()
      // It is valid still, for as long as it is good.
      if (!stay.has(fetched)) fetched?.stop()
    }
    this.#log.info(
      { event: 'config.reloaded', catalog: this.#now.catalog.source, upstreams: this.#now.upstreams.length },
      'the configuration was reloaded',
    )
  }

  /** Stops fetching model lists. */
  stopListing(): void {
    this.#now.listing.stop()
  }

  async close(): Promise<void> {
    for (const { fetched } of this.#now.upstreams) fetched?.stop()
    await Promise.all(this.#now.upstreams.map(({ pool }) => pool.destroy()))
  }
}

/** Tokens of a prompt and of an answer by which targets are compared: of a usual call. */
const QUOTED_USAGE = { ...NO_USAGE, inputTokens: 3_000, outputTokens: 500 }

/** Tokens of one class whose price is asked for: few enough for the price of short prompts. */
const EACH_OF = 1_000

function usdEach(pico: bigint | null): number | null {
  return pico === null ? null : picoToUsdNumber(pico) / EACH_OF
}

/** `null`: it has no price, or a part of it has none. */
function quoteTarget(
  pricing: QuotingPricing,
  { upstream, model }: RouteTarget,
  clientName: string,
  usage: TokenUsage = QUOTED_USAGE,
): bigint | null {
  const priced = pricing.quoteCall({
    provider: upstream.provider,
    upstream: upstream.name,
    clientName,
    model: null,
    requestedModel: model,
    usage,
    units: NO_UNITS,
    serviceTier: null,
    arrivedAtMs: Date.now(),
    reportedCostPico: null,
    parts: null,
  })
  return priced.kind === 'priced' && priced.isPartly !== true ? priced.costPico : null
}

function pricingOf(now: () => QuotingPricing): QuotingPricing {
  return {
    get alertAbovePico() {
      return now().alertAbovePico ?? null
    },
    priceCall: (call) => now().priceCall(call),
    quoteCall: (call) => now().quoteCall(call),
    knowsModel: (call, model) => now().knowsModel(call, model),
  }
}

function tableOf(now: () => UpstreamTable): UpstreamTable {
  return {
    get all() {
      return now().all
    },
    get needsModel() {
      return now().needsModel
    },
    byPrefix: (target) => now().byPrefix(target),
    get routes() {
      return now().routes
    },
    get fallback() {
      return now().fallback
    },
    byModel: (asked) => now().byModel(asked),
    choose: (asked) => now().choose(asked),
  }
}

type ReloadablePrices = Pick<Reloadable, 'catalog' | 'entries' | 'prices' | 'pricing'>

function readPrices(config: GatewayConfig, stored: StoredPrices, listed: Listed): ReloadablePrices {
  const { entries, text } = readCurrentCatalog(config.dataDir, stored)
  const catalog = buildCatalog({
    entries,
    overrides: config.priceOverrides,
    markups: config.priceMarkups,
    trustedUpstreams: config.upstreams
      .filter((upstream) => upstream.trustReportedCost)
      .map(({ name }) => name),
    pricesOf: pricesOfUpstreams(config.upstreams),
    places: placesOfUpstreams(config.upstreams),
  })
  return {
    catalog,
    entries,
    prices: {
      configuration: buildPriceConfiguration(catalog.source, config.priceSettings),
      upstreams: config.upstreams.map(({ name, provider, pricesOf, trustReportedCost }) => ({
        name,
        provider,
        pricesOf,
        trustReportedCost,
      })),
      catalogText: text,
    },
    pricing: buildPricing(catalog, listed, alertAbovePico(config)),
  }
}

function readReloadable(
  config: GatewayConfig,
  stored: StoredPrices,
  log: Logger,
  routing: Routing,
  before: readonly Upstream[] = [],
): Reloadable {
  const upstreams = openUpstreams(config, before, log)
  const routes = buildRouteTable(config.routes ?? [], upstreams, routing)
  const listing = withRoutes(
    config.models === null ? watchUpstreamModels(upstreams, log) : configuredModels(config.models),
    routes?.names ?? [],
  )
  const configured = new Set([
    ...upstreams.flatMap(({ models }) => models ?? []),
    ...(config.routes ?? []).flatMap(({ to }) => to.map(({ model }) => model)),
  ])
  const listed = { has: (model: string) => configured.has(model) || listing.has(model) }
  return {
    upstreams,
    table: buildUpstreamTable(upstreams, config, logUnserved(log), routes),
    pathPolicy: buildPathPolicy({
      all: config.paths,
      byUpstream: new Map(config.upstreams.map(({ name, paths }) => [name, paths])),
      byKey: config.paths.keys,
    }),
    ...readPrices(config, stored, listed),
    listed,
    listing,
  }
}

/** Says once an hour, of each API, that calls speak it and no upstream does. */
function logUnserved(log: Logger): (api: ApiFamily) => void {
  const gates = new Map<ApiFamily, Gate>()
  return (api) => {
    const gate = gates.get(api) ?? atMostEvery(UNSERVED_EVERY_MS)
    gates.set(api, gate)
    if (!gate.passes()) return
    log.warn(
      { event: 'upstream.api_unserved', api },
      'calls of an API are refused, as no upstream without a path_prefix serves it',
    )
  }
}

function alertAbovePico({ callAlertUsd }: GatewayConfig): bigint | null {
  return callAlertUsd === 0 ? null : BigInt(callAlertUsd) * 1_000_000_000_000n
}

function openUpstreams(config: GatewayConfig, before: readonly Upstream[], log: Logger): readonly Upstream[] {
  const limits = {
    headersTimeoutMs: config.upstreamHeadersTimeoutMs,
    idleTimeoutMs: config.upstreamIdleTimeoutMs,
  }
  return config.upstreams.map((upstream) => ({
    name: upstream.name,
    origin: upstream.origin,
    host: new URL(upstream.origin).host,
    basePath: upstream.basePath,
    provider: upstream.provider,
    credential: upstream.apiKey === null ? null : credentialHeader(upstream.provider, upstream.apiKey),
    fetched: fetchedOf(upstream, before, log),
    takesClients: upstream.takesClients,
    models: upstream.models,
    modelsPath: upstream.modelsPath,
    pathPrefix: upstream.pathPrefix,
    includeUsage: upstream.includeUsage,
    objects: upstream.objects,
    account: config.upstreams.flatMap(({ name, origin }) => (origin === upstream.origin ? [name] : [])),
    mountedAt: config.basePath,
    publicUrl: config.publicUrl,
    ownsOrigins: config.corsOrigins !== null,
    pool: openPool(upstream.origin, limits, upstream.keepAlive),
  }))
}

/** One of the same settings goes on over a reload, as it is valid; what may be new behind them is fetched. */
function fetchedOf(
  { name, credentials }: UpstreamConfig,
  before: readonly Upstream[],
  log: Logger,
): FetchedCredential | null {
  if (credentials === null) return null
  const former = before.find((upstream) => upstream.name === name)?.fetched ?? null
  if (former?.settings !== JSON.stringify(credentials)) return openCredential(credentials, name, log)
  former.renew()
  return former
}
