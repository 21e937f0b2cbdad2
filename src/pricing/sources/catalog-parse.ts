import { tierOfWhen } from '#prices/catalog-document.ts'
import { decimalOf } from '#prices/decimal.ts'
import { isObject, type JsonObject } from '../../domain/json.ts'
import { isDay, type UtcDay } from '../../domain/utc-day.ts'
import type {
  CatalogEntries,
  CatalogModel,
  CatalogProvider,
  CatalogRate,
  DatedPrices,
  PriceConstraint,
  TierVariant,
} from '../catalog/catalog-entries.ts'
import { compileMatch } from '../catalog/catalog-match.ts'

/**
 * Reads catalog data: an array of providers as in genai-prices' `data.json`, version 2, parsed from JSON or taken
 * from the package. All problems are reported, each with its place; with any, there are no entries, as a part of a
 * price list would silently leave calls unpriced.
 *
 * @param knownSince Of lists that do not say it themselves; `null`: since ever.
 */
export function parseCatalog(
  value: unknown,
  source: string,
  knownSince: UtcDay | null = null,
): { readonly entries: CatalogEntries | null; readonly problems: readonly string[] } {
  const problems: string[] = []
  const report = (place: string, what: string) => void problems.push(`${place}: ${what}`)
  const providers = new Map<string, CatalogProvider>()
  if (!Array.isArray(value) || value.length === 0) report('catalog', 'is not a list of providers')
  for (const [index, item] of (Array.isArray(value) ? value : []).entries()) {
    const provider = parseProvider(item, `provider ${index + 1}`, knownSince, report)
    if (provider === null) continue
    if (providers.has(provider.id)) report(`provider ${provider.id}`, 'is there twice')
    providers.set(provider.id, provider)
  }
  const known = knownSince === null ? {} : { knownSince }
  return { entries: problems.length === 0 ? { source, providers, ...known } : null, problems }
}

type Report = (place: string, what: string) => void

function parseProvider(
  value: unknown,
  place: string,
  knownSince: UtcDay | null,
  report: Report,
): CatalogProvider | null {
  const { id, models, fallback_model_providers: fallbacks = [], known_since: own } = fieldsOf(value)
  const known = typeof own === 'string' && isDay(own) ? own : knownSince
  if (typeof id !== 'string' || !Array.isArray(models)) {
    report(place, 'has no id or no models')
    return null
  }
  if (!isTextList(fallbacks)) {
    report(id, 'fallback_model_providers is not a list of names')
    return null
  }
  const parsed = models.flatMap(
    (model, index) => parseModel(model, `${id}, model ${index + 1}`, known, report) ?? [],
  )
  return { id, models: parsed, fallbackProviders: fallbacks }
}

function parseModel(
  value: unknown,
  place: string,
  knownSince: UtcDay | null,
  report: Report,
): CatalogModel | null {
  const { id, match, prices, in_force_from: from, known_since: own, sells_for: maker } = fieldsOf(value)
  const known = typeof own === 'string' && isDay(own) ? own : knownSince
  if (typeof id !== 'string') {
    report(place, 'has no id')
    return null
  }
  const matches = compileMatch(match)
  if (matches === null) report(`${place} (${id})`, 'match is not match logic')
  const listed = Array.isArray(prices) ? prices : [{ prices }]
  const dated = listed.flatMap((item) => parseDatedPrices(item, id, `${place} (${id})`, report) ?? [])
  if (listed.length === 0) report(`${place} (${id})`, 'has an empty list of prices')
  const variants = parseVariants(fieldsOf(value), `${place} (${id})`, report)
  if (matches === null) return null
  if (from !== undefined && (typeof from !== 'string' || !isDay(from))) {
    report(`${place} (${id})`, 'in_force_from is not a day')
  }
  return {
    id,
    matches,
    prices: dated,
    ...(variants.length === 0 ? {} : { variants }),
    ...(typeof from === 'string' ? { inForceFrom: from } : {}),
    ...(known === null ? {} : { knownSince: known }),
    ...(typeof maker === 'string' ? { sellsFor: maker } : {}),
  }
}

/**
 * Variants of what answers name a tier for; others (a route, a kind of search) are left out. `service_tiers`, by the name
 * of a tier, is how releases before kept those of LiteLLM.
 */
function parseVariants(
  { price_variants: variants = [], service_tiers: tiers = {} }: JsonObject,
  place: string,
  report: Report,
): readonly TierVariant[] {
  if (!Array.isArray(variants)) report(place, 'price_variants is not a list')
  if (!isObject(tiers)) report(place, 'service_tiers is not an object')
  const byName = Object.entries(fieldsOf(tiers)).map(([tier, prices]) => ({
    when: { service_tier: tier },
    prices,
  }))
  return [...(Array.isArray(variants) ? variants : []), ...byName].flatMap((variant: unknown) => {
    const tier = tierOfWhen(fieldsOf(fieldsOf(variant).when))
    if (tier === null) return []
    const dated = parseDatedPrices(variant, tier, `${place}, ${tier}`, report)
    if (dated === null) return []
    const { constraint, byKey } = dated
    // By the hour no tier is known; it would be taken at all hours.
    if (constraint?.kind === 'hours') return []
    return [{ tier, from: constraint?.day ?? null, byKey }]
  })
}

function parseDatedPrices(
  value: unknown,
  modelId: string,
  place: string,
  report: Report,
): DatedPrices | null {
  const { constraint: written, prices } = fieldsOf(value)
  const constraint = written === undefined ? null : parseConstraint(written)
  if (constraint === undefined) report(place, `no such constraint: ${JSON.stringify(written)}`)
  if (!isObject(prices)) {
    report(place, 'has no prices')
    return null
  }
  const byKey = new Map<string, CatalogRate>()
  for (const [key, price] of Object.entries(prices)) {
    if (price === undefined) continue
    const rate = parseRate(price)
    if (rate === null) report(place, `${key} is not a price`)
    else byKey.set(key, rate)
  }
  if (constraint === undefined) return null
  return { constraint, byKey: byKey.size === 0 && modelId.endsWith(':free') ? FREE : byKey }
}

const ZERO: CatalogRate = { base: decimalOf(0), tiers: [] }

/**
 * The catalog writes `{}` both for models that are free and for models whose price it does not know. Only where
 * the name itself says `:free` is it read as a price of 0.
 */
const FREE: DatedPrices['byKey'] = new Map([
  ['input_mtok', ZERO],
  ['output_mtok', ZERO],
])

function parseRate(value: unknown): CatalogRate | null {
  if (isPrice(value)) return { base: decimalOf(value), tiers: [] }
  const { base, tiers } = fieldsOf(value)
  if (!isPrice(base) || !Array.isArray(tiers)) return null
  const parsed = tiers.flatMap((tier: unknown) => {
    const { start, price } = fieldsOf(tier)
    if (typeof start !== 'number' || !Number.isSafeInteger(start) || start < 0 || !isPrice(price)) return []
    return [{ above: start, price: decimalOf(price) }]
  })
  if (parsed.length !== tiers.length) return null
  return { base: decimalOf(base), tiers: parsed.sort((a, b) => a.above - b.above) }
}

/** `undefined`: not a constraint we know, so the prices under it must not be used. */
function parseConstraint(value: unknown): PriceConstraint | undefined {
  const {
    type,
    start_date: day,
    start_time: start,
    end_time: end,
    weekdays_only: weekdays = false,
    not_on: notOn,
    ...rest
  } = fieldsOf(value)
  // `weekdays_only` and `not_on` are ours: genai-prices has no such conditions yet.
  if (Object.keys(rest).length > 0 || typeof weekdays !== 'boolean') return undefined
  if (notOn !== undefined && notOn !== 'chinese_holidays') return undefined
  if (typeof day === 'string' && start === undefined && end === undefined) {
    return (type ?? 'start_date') === 'start_date' && isDay(day) ? { kind: 'from', day } : undefined
  }
  const startMs = parseTimeMs(start)
  const endMs = parseTimeMs(end)
  if (startMs === null || endMs === null || (type ?? 'time_of_date') !== 'time_of_date') return undefined
  const hours = {
    kind: 'hours',
    startMs,
    endMs,
    ...(weekdays ? { weekdaysOnly: true as const } : {}),
    ...(notOn === undefined ? {} : { notOn: 'chinese_holidays' as const }),
  } as const
  if (day === undefined) return hours
  // Not in genai-prices' own data: where hourly prices have changed, and the older ones are kept.
  return typeof day === 'string' && isDay(day) ? { ...hours, day } : undefined
}

const MS_PER_DAY = 86_400_000

/** A time of day with its offset, `00:30:00Z` or `08:30:00.5+08:00`, as milliseconds since midnight UTC. */
function parseTimeMs(value: unknown): number | null {
  if (typeof value !== 'string' || !/^[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})$/.test(value)) return null
  const ms = Date.parse(`1970-01-02T${value}`)
  return Number.isNaN(ms) ? null : ms % MS_PER_DAY
}

/** The fields of an object; of anything else, none. */
function fieldsOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

function isPrice(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
