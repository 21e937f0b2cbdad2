import { printable, renderTable } from '../../../operations/table.ts'
import { catalogPlaces } from '../../../pricing/catalog/catalog-providers.ts'
import type { ModelCorrection } from '../../../pricing/corrections/models.ts'
import {
  allContradictions,
  type CatalogContradiction,
  contradictionsOf,
  staleCorrections,
} from '../../../pricing/sources/catalog-contradictions.ts'
import type { ModelInUse } from '../../../usage/models-in-use.ts'
import type { PricesInForce } from '../../gateway-prices.ts'

/** Where the sources of price data contradict each other; `used`: of these models alone, `null`: of all. */
export function findContradictions(
  { config }: PricesInForce,
  used: readonly ModelInUse[] | null,
  atMs: number,
): readonly CatalogContradiction[] {
  const { entries } = config.source
  if (used === null) return allContradictions(entries, atMs)
  const whose = config.settings.pricesOf ?? {}
  const found = used.flatMap(({ provider, upstream, model }) =>
    catalogPlaces(provider, model, whose[upstream] ?? null).flatMap((place) =>
      contradictionsOf(entries, place, atMs),
    ),
  )
  // Several upstreams may have one model.
  const keys = found.map(({ provider, model, rate }) => `${provider}\n${model}\n${rate}`)
  return found.filter((_, index) => keys.indexOf(keys[index] ?? '') === index)
}

/** Our corrections that the sources now contain themselves. */
export function findStale({ config }: PricesInForce, atMs: number): readonly ModelCorrection[] {
  return staleCorrections(config.source.entries, atMs)
}

export function renderContradictions(
  contradictions: readonly CatalogContradiction[],
  stale: readonly ModelCorrection[],
) {
  return {
    contradictions,
    stale_corrections: stale.map(({ providerId, id, source, seen }) => ({
      provider: providerId,
      model: id,
      source,
      seen,
    })),
  }
}

export function contradictionsText(
  contradictions: readonly CatalogContradiction[],
  stale: readonly ModelCorrection[],
  whose: string,
): string {
  const table = renderTable(
    ['PROVIDER', 'MODEL', 'CLASS', 'TAKEN', 'OTHERS', 'WHY'].map((heading) => ({ heading })),
    contradictions.map(({ provider, model, rate, taken, others, why }) => [
      provider,
      printable(model),
      rate,
      `${taken.price} (${nameOf(taken.source)})`,
      others.map(({ price, source }) => `${price} (${nameOf(source)})`).join('; '),
      why,
    ]),
  )
  const head =
    contradictions.length === 0
      ? `The sources of prices do not contradict each other on ${whose}.`
      : `${table}\n\nSources contradict each other on ${whose}: dollars a million tokens, a thousand pieces or an hour. They are never averaged; an entry under prices in TALLYGATE_CONFIG decides otherwise.`
  const old = stale.map(
    ({ providerId, id }) => `Stale: a source says as our correction of ${providerId}/${id} does.`,
  )
  return [head, ...old].join('\n')
}

/** Without its version. */
function nameOf(source: string): string {
  return source.replace(/@.*/, '')
}
