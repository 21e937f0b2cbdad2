import type { CatalogPlace } from '../../providers/catalog-lists.ts'
import type { CatalogEntries, CatalogRate } from '../catalog/catalog-entries.ts'
import { findListed, layersOf } from '../catalog/catalog-find.ts'
import { rateText } from '../catalog/catalog-rates.ts'
import { MS_PER_DAY, pricesAt } from '../catalog/catalog-schedule.ts'
import type { ModelCorrection } from '../corrections/model-correction.ts'
import { MODEL_CORRECTIONS } from '../corrections/models.ts'
import { findSettled } from '../corrections/settled.ts'
import type { RateClass } from '../price-rates.ts'
import { agree, sharedClasses } from './catalog-agreement.ts'
import { isCorrections } from './catalog-corrections.ts'
import { mergePrices } from './catalog-merge.ts'

/** A class of a model's prices on which sources contradict the one that is taken. */
export interface CatalogContradiction {
  /** The catalog's provider. */
  readonly provider: string
  readonly model: string
  readonly rate: RateClass
  /** In the words of catalog data: dollars for a million of tokens, more over some sizes of prompt. */
  readonly taken: SourcePrice
  readonly others: readonly SourcePrice[]
  /** Why that one is taken. */
  readonly why: string
}

export interface SourcePrice {
  readonly source: string
  readonly price: string
}

/** Where the sources contradict what is taken for a name at `atMs`, by class; they are never averaged. */
export function contradictionsOf(
  entries: CatalogEntries,
  place: CatalogPlace,
  atMs: number,
): readonly CatalogContradiction[] {
  const merged = mergePrices(entries, place, atMs, () => new Set())
  if (merged === null || merged.byKey.size === 0) return []
  const others = findListed(entries, place).filter(
    ({ layer, rank, fit }) =>
      rank === 0 && fit === 'exact' && !merged.source.split('+').includes(layer.source),
  )
  const found = new Map<RateClass, { taken: CatalogRate; others: SourcePrice[] }>()
  for (const { layer, model } of others) {
    const prices = pricesAt(model, atMs)?.prices.byKey ?? new Map()
    for (const { rate, one, other, isSame } of sharedClasses(merged.byKey, prices)) {
      if (isSame) continue
      const entry = found.get(rate) ?? { taken: one, others: [] }
      found.set(rate, entry)
      entry.others.push({ source: layer.source, price: rateText(other) })
    }
  }
  const [first = ''] = merged.source.split('+')
  return [...found].map(([rate, { taken, others: sourcePrices }]) => ({
    provider: merged.provider.id,
    model: place.name,
    rate,
    taken: { source: first, price: rateText(taken) },
    others: sourcePrices,
    why: whyTaken(merged.provider.id, merged.model.id, place.name, first),
  }))
}

function whyTaken(providerId: string, model: string, name: string, source: string): string {
  const correction = source.startsWith('corrections@') ? findCorrection(providerId, model) : null
  if (correction !== null) return `corrected: ${correction.why} (${correction.source}, ${correction.seen})`
  const settled = findSettled(providerId, name)
  if (settled !== null) return `${settled.why} (${settled.source}, ${settled.seen})`
  return `${source.replace(/@.*/, '')} comes first`
}

function findCorrection(providerId: string, model: string): ModelCorrection | null {
  return MODEL_CORRECTIONS.find((one) => one.providerId === providerId && one.id === model) ?? null
}

/** All contradictions, of every name that a source lists by itself. */
export function allContradictions(entries: CatalogEntries, atMs: number): readonly CatalogContradiction[] {
  const seen = new Set<string>()
  return layersOf(entries).flatMap(({ providers }) =>
    [...providers.values()].flatMap(({ id: providerId, models }) =>
      models.flatMap(({ id }) => {
        const name = `${providerId}\n${id.toLowerCase()}`
        if (seen.has(name)) return []
        seen.add(name)
        return contradictionsOf(entries, { providerId, name: id }, atMs)
      }),
    ),
  )
}

/** Our corrections that a source has caught up with: without them the prices were the same, at any hour of a week. */
export function staleCorrections(
  entries: CatalogEntries,
  atMs: number,
  corrections: readonly ModelCorrection[] = MODEL_CORRECTIONS,
): readonly ModelCorrection[] {
  const layers = layersOf(entries)
  const ours = layers.filter(isCorrections)
  const others = { ...entries, layers: layers.filter((layer) => !isCorrections(layer)) }
  const moments = Array.from({ length: 7 * 24 }, (_, hour) => atMs - (hour * MS_PER_DAY) / 24)
  return corrections.filter(({ providerId, id, names = [id], prices }) =>
    names.every((name) =>
      [...moments, ...changesOf(prices)].every((moment) => {
        const place = { providerId, name }
        const [listed] = findListed({ ...entries, layers: ours }, place)
        const corrected = listed === undefined ? null : pricesAt(listed.model, moment)
        const theirs = mergePrices(others, place, moment, () => new Set())
        if (corrected === null || theirs === null) return false
        const { byKey } = corrected.prices
        return agree(byKey, theirs.byKey) && sharedClasses(byKey, theirs.byKey).length === byKey.size
      }),
    ),
  )
}

/**
 * Noon before and on each of the days on which a correction changes: before it may differ from what is right since, and a
 * source may not know of a change to come.
 */
function changesOf(prices: ModelCorrection['prices']): readonly number[] {
  const dated = Array.isArray(prices) ? prices : []
  return dated.flatMap(({ constraint }: { constraint?: { start_date?: string } }) => {
    if (constraint?.start_date === undefined) return []
    const midnight = Date.parse(constraint.start_date)
    return [midnight - MS_PER_DAY / 2, midnight + MS_PER_DAY / 2]
  })
}
