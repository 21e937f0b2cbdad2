/** A calendar day in UTC, written YYYY-MM-DD. */
type Day = string

/** A price catalog as it is written: what `parseCatalog` reads, and nothing else. */
export type CatalogDocument = readonly ProviderDocument[]

export interface ProviderDocument {
  readonly id: string
  readonly fallback_model_providers?: readonly string[]
  /** As `CatalogModel.knownSince`, for models that say no day of their own. */
  readonly known_since?: Day
  readonly models: readonly ModelDocument[]
}

export interface ModelDocument {
  readonly id: string
  /** Match logic, as `compileMatch` takes it. */
  readonly match: unknown
  /** As `CatalogModel` has them. */
  readonly prices: readonly PricesDocument[]
  /** Prices at service tiers, as genai-prices writes them: of each class the first that is in force counts. */
  readonly price_variants?: readonly VariantDocument[]
  /** The first day on which its source no longer had it: its prices are the last that were known. */
  readonly gone_since?: Day
  /** No model, but a name that has been another model's since then. */
  readonly moved_since?: Day
  /** As `CatalogModel.knownSince`. */
  readonly known_since?: Day
  /** As `CatalogModel.sellsFor`. */
  readonly sells_for?: string
}

export interface PricesDocument {
  readonly constraint?: ConstraintDocument
  readonly prices: Readonly<Record<string, unknown>>
}

/** A tier's own prices; classes that it does not name cost what they do without. */
export interface VariantDocument extends PricesDocument {
  readonly when: Readonly<Record<string, string>>
}

/** A beginning, hours of the day, or hours of the day from a beginning on. */
export interface ConstraintDocument {
  readonly start_date?: Day
  readonly start_time?: string
  readonly end_time?: string
}

/**
 * Takes of a catalog what prices hang on, in one form: the same prices give the same text, whatever else its source
 * writes beside them.
 *
 * @param value What `parseCatalog` found no problem with.
 */
export function catalogDocumentOf(value: unknown): CatalogDocument {
  return listOf(value).map((provider) => {
    const { id, fallback_model_providers: fallbacks, known_since: known, models } = fieldsOf(provider)
    return {
      id: String(id),
      ...(Array.isArray(fallbacks) && fallbacks.length > 0
        ? { fallback_model_providers: fallbacks.map(String) }
        : {}),
      ...(typeof known === 'string' ? { known_since: known } : {}),
      models: listOf(models).map(modelOf),
    }
  })
}

export function catalogTextOf(document: CatalogDocument): string {
  return JSON.stringify(document)
}

/** Names that a model's match logic says whole, lower case, and its id. */
export function namesOf({ id, match }: ModelDocument): readonly string[] {
  return [...new Set([id.toLowerCase(), ...wholeNames(match)])]
}

/** The rules of match logic: operator and operand of each. */
export function rulesOf(match: unknown): readonly (readonly [string, string])[] {
  return Object.entries(fieldsOf(match)).flatMap(([operator, operand]): (readonly [string, string])[] =>
    typeof operand === 'string' ? [[operator, operand]] : listOf(operand).flatMap(rulesOf),
  )
}

function wholeNames(match: unknown): readonly string[] {
  const { equals, or } = fieldsOf(match)
  if (typeof equals === 'string') return [equals.toLowerCase()]
  return listOf(or).flatMap(wholeNames)
}

function modelOf(value: unknown): ModelDocument {
  const {
    id,
    match,
    prices,
    gone_since: goneSince,
    moved_since: movedSince,
    known_since: known,
    sells_for: maker,
  } = fieldsOf(value)
  const variants = variantsOf(value)
  return {
    id: String(id),
    match,
    prices: (Array.isArray(prices) ? prices : [{ prices }]).map(pricesOf),
    ...(variants.length === 0 ? {} : { price_variants: variants }),
    ...(typeof goneSince === 'string' ? { gone_since: goneSince } : {}),
    ...(typeof movedSince === 'string' ? { moved_since: movedSince } : {}),
    ...(typeof known === 'string' ? { known_since: known } : {}),
    ...(typeof maker === 'string' ? { sells_for: maker } : {}),
  }
}

/**
 * The prices at tiers that calls can have, of a model as it is written. LiteLLM's list, as releases before kept it, has
 * them by their name under `service_tiers`.
 */
function variantsOf(model: unknown): readonly VariantDocument[] {
  const { price_variants: variants, service_tiers: tiers } = fieldsOf(model)
  const written = [
    ...listOf(variants),
    ...Object.entries(fieldsOf(tiers)).map(([tier, prices]) => ({ when: { service_tier: tier }, prices })),
  ]
  return written.flatMap((variant) => {
    const when = Object.fromEntries(
      Object.entries(fieldsOf(fieldsOf(variant).when)).map(([key, value]) => [key, String(value)]),
    )
    return tierOfWhen(when) === null ? [] : [{ when, ...pricesOf(variant) }]
  })
}

/** The service tier that a variant of genai-prices is for; `null`: standard, or what no answer tells. */
export function tierOfWhen(when: Readonly<Record<string, unknown>>): string | null {
  const [[key, value] = ['', null], ...others] = Object.entries(when)
  if (typeof value !== 'string' || others.length > 0 || value === 'default') return null
  return key === 'service_tier' || key === 'processing' || key === 'speed' ? value : null
}

function pricesOf(value: unknown): PricesDocument {
  const { constraint, prices } = fieldsOf(value)
  const written = fieldsOf(constraint)
  const kept = (['start_date', 'start_time', 'end_time'] as const).flatMap((key) =>
    written[key] === undefined ? [] : [[key, String(written[key])]],
  )
  const rates = Object.entries(fieldsOf(prices)).filter(([, rate]) => rate !== undefined)
  return {
    ...(kept.length === 0 ? {} : { constraint: Object.fromEntries(kept) }),
    prices: Object.fromEntries(
      rates.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, rate]) => [key, rateOf(rate)]),
    ),
  }
}

function rateOf(rate: unknown): unknown {
  const { base, tiers } = fieldsOf(rate)
  if (base === undefined) return rate
  const written = listOf(tiers).map((tier) => {
    const { start, price } = fieldsOf(tier)
    return { start, price }
  })
  return { base, tiers: written }
}

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
