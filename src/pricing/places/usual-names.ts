import type { CatalogPlace } from '../../providers/catalog-lists.ts'

/**
 * Names that say no place, of models that cost a tenth more in a region: lists contradict each other on them. Their price is
 * that of the name at the usual place, and not known to be theirs.
 *
 * Sources: aws.amazon.com/bedrock/pricing, platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock, which says
 * that a call names `global.` or a region; seen on 2026-11-26.
 */
const PLACELESS = {
  providerId: 'aws',
  names:
    /^anthropic\.claude-(?:(?:opus|sonnet|haiku)-4-(?:[5-9]|[1-9][0-9])(?![0-9])|(?:opus|sonnet|haiku|fable|mythos)-[5-9])/i,
  usual: 'global.',
} as const

/** Whether the place of a call decides its price, and its name says none. */
export function isPlaceless({ providerId, name }: Pick<CatalogPlace, 'providerId' | 'name'>): boolean {
  return providerId === PLACELESS.providerId && PLACELESS.names.test(name)
}

/** Where lists have the price of a name: under another one, where its own says no place. */
export function usualPlace(place: CatalogPlace): CatalogPlace {
  return isPlaceless(place) ? { ...place, name: `${PLACELESS.usual}${place.name}` } : place
}
