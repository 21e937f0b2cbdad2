/** A place in the price catalog to look a model up. */
export interface CatalogPlace {
  /** The catalog's name of the list. */
  readonly providerId: string
  /** The model's name there. */
  readonly name: string
  /**
   * Lists of the host alone, for sources that distinguish it from what the first source has in one list: where a source
   * has any of them, they stand in place of `providerId`'s.
   */
  readonly lists?: readonly string[]
  /** The host whose list this maker's stands in for: changes of the maker's price are not the host's. */
  readonly inheritedBy?: string
  /**
   * The list to search next: that of whose models it sells at their prices. Absent: what the first source says of that.
   */
  readonly makers?: readonly CatalogPlace[]
}

/**
 * The place of a model in its maker's list, where a prefix of its name says who made it (`openai/gpt-4o`); else `null`.
 */
export type FindMaker = (model: string) => CatalogPlace | null

/** Prices that hold at some of a provider's hosts only. */
export interface RegionalPrices {
  /** The value of a call's `pricesOf` then. */
  readonly name: string
  /** Tells whether they hold at `host`, in lower case. */
  holdsAt(host: string): boolean
  places(model: string): readonly CatalogPlace[]
}

/** The lists of the price catalog that have a provider's prices. */
export interface CatalogLists {
  /** The provider's lists in genai-prices, the first source. */
  readonly lists: readonly string[]
  /** Lists that only the other sources have. */
  readonly otherLists?: readonly string[]
  /**
   * The lists to search for the price of `model`, in this order. Chosen by the configuration, never by how a name
   * looks.
   */
  places(model: string, findMaker: FindMaker): readonly CatalogPlace[]
  /** Prefixes that name the provider as the maker of a model that another one serves. Absent: it makes none. */
  readonly makerPrefixes?: readonly string[]
  /** A model that stands in none of `lists` is passed on to its maker, whose service tiers then hold. */
  readonly passesOn?: true
  /** Its answers may name models in words of their makers', or of hosts: what the request names was served. */
  readonly requestNamesModel?: true
  readonly regional?: RegionalPrices
}

/** The provider's one list in the first source, under the names that its models have in calls. */
export function listedAs(list: string): CatalogLists {
  return { lists: [list], places: (name) => [{ providerId: list, name }] }
}

/** The same for a list that only the other sources have. */
export function listedElsewhereAs(list: string): CatalogLists {
  return { ...listedAs(list), lists: [], otherLists: [list] }
}

/** A list of {@link listedAs} of a maker whose models others serve under `prefix/name`. */
export function madeAndListedAs(list: string, makerPrefixes: readonly string[]): CatalogLists {
  return { ...listedAs(list), makerPrefixes }
}
