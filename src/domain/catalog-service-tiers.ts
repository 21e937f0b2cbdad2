import { type Decimal, ONE } from './decimal.ts'

/** Words of providers for calls at their list prices, and for tiers they name in several ways. */
const SAME_TIER: ReadonlyMap<string, string | null> = new Map([
  ['', null],
  ['auto', null],
  ['default', null],
  ['standard', null],
  ['standard_only', null],
  // Groq's and Vertex's word for it.
  ['on_demand', null],
  ['traffic_type_unspecified', null],
  ['on_demand_priority', 'priority'],
  ['on_demand_flex', 'flex'],
])

const KNOWN_TIERS: ReadonlySet<string> = new Set([
  'batch',
  'fast',
  'flex',
  'performance',
  'priority',
  'provisioned_throughput',
  'reserved',
  'scale',
])

/**
 * The service tier a call was served at, in a form that may stand in a price's identity; `null`: standard. What is
 * neither known nor named by an entry of the configuration (`named`) is `other`: an upstream must not be able to make
 * as many prices as it can think of words.
 */
export function serviceTierOf(reported: string | null, named: ReadonlySet<string>): string | null {
  if (reported === null) return null
  const tier = reported.toLowerCase()
  const same = SAME_TIER.get(tier)
  if (same !== undefined) return same
  return KNOWN_TIERS.has(tier) || named.has(tier) ? tier : 'other'
}

const HALF: Decimal = { digits: 5n, scale: 1 }

/**
 * What tokens cost at a tier against the list price, where the catalog's provider says so for all of its models;
 * `null`: not known. Anthropic: "all usage is charged at 50% of the standard API prices"
 * (https://platform.claude.com/docs/en/build-with-claude/batch-processing).
 */
export function serviceTierFactor(catalogProviderId: string, serviceTier: string | null): Decimal | null {
  if (serviceTier === null) return ONE
  return catalogProviderId === 'anthropic' && serviceTier === 'batch' ? HALF : null
}
