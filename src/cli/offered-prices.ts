import type { Environment } from '../config/config.ts'
import { readCatalogText } from '../config/current-catalog.ts'
import { readPricesUrl } from '../config/price-refresh-config.ts'
import { Failure } from '../operations/failure.ts'
import { reasonOf } from '../lib/reason-of.ts'
import { printable, renderTable } from '../operations/table.ts'
import type { CatalogChange } from '../pricing/history/catalog-changes.ts'
import { fetchOf } from '../pricing/refresh/price-pages.ts'
import { PRICE_KINDS } from '../pricing/refresh/stored-prices.ts'
import type { Judged, OfferedPrices } from '../pricing/refresh/take-prices.ts'
import type { PriceCatalogKind } from '../pricing/sources/price-catalog-source.ts'

/** What a source was asked for by hand. `unreachable`: it gave nothing that could be judged. */
export type Asked =
  | { readonly kind: PriceCatalogKind; readonly offered: OfferedPrices }
  | { readonly kind: PriceCatalogKind; readonly unreachable: string }

/**
 * Price data from a path, or of every source that has a URL where none is named.
 *
 * @throws {Failure} where a path, or a URL of the configuration, is none.
 */
export async function readOfferedPrices(
  env: Environment,
  path: string | undefined,
): Promise<readonly Asked[]> {
  if (path !== undefined) {
    try {
      const offered = { kind: 'genai-prices' as const, text: readCatalogText(path), origin: path }
      return [{ kind: offered.kind, offered }]
    } catch (error) {
      throw new Failure(`${path} cannot be read: ${reasonOf(error)}`)
    }
  }
  const problems: string[] = []
  const urls = PRICE_KINDS.map((kind) => [kind, readPricesUrl(env, problems, kind)] as const)
  const [problem] = problems
  if (problem !== undefined) throw new Failure(problem)
  const asked: Asked[] = []
  for (const [kind, url] of urls) {
    if (url === null) continue
    const fetched = await fetchOf(kind)(url, null)
    if (fetched.kind === 'fetched') asked.push({ kind, offered: { kind, text: fetched.text, origin: url } })
    else {
      const why = fetched.kind === 'unmodified' ? 'no answer' : fetched.problem
      asked.push({ kind, unreachable: `${url}: ${why}` })
    }
  }
  return asked
}

const SHOWN_PROBLEMS = 5

/** @throws {Failure} Where it must not be taken. */
export function refuseUnreadable({ problems }: Judged, { origin }: OfferedPrices): void {
  if (problems.length === 0) return
  const more = problems.length > SHOWN_PROBLEMS ? `; and ${problems.length - SHOWN_PROBLEMS} more` : ''
  throw new Failure(
    `nothing is changed: ${origin} is not a catalog: ${problems.slice(0, SHOWN_PROBLEMS).join('; ')}${more}`,
  )
}

/** As JSON. */
export function renderJudged({ before, catalog, from, changes, doubts, held }: Judged) {
  return {
    from: before,
    to: catalog?.source ?? before,
    in_force_from: catalog === null ? null : from,
    changes,
    doubts,
    held: held.map(({ provider, model, why }) => ({ provider, model, why })),
  }
}

const SHOWN_CHANGES = 60

/** The changes, and the doubts about them, as text. */
export function textOfJudged({ changes, doubts, held, from, catalog }: Judged): string[] {
  const shown = changes.slice(0, SHOWN_CHANGES)
  const table = renderTable(
    ['PROVIDER', 'MODEL', 'WHAT', 'BEFORE', 'AFTER'].map((heading) => ({ heading })),
    shown.map((change) => rowOf(change)),
  )
  const more = changes.length > shown.length ? [`and ${changes.length - shown.length} more: see --json`] : []
  return [
    ...(changes.length === 0
      ? ['No price changes.']
      : [table, ...more, '', ...describeChanges(changes, from)]),
    ...(catalog === null ? [] : doubts.map((doubt) => `Doubtful: ${doubt}.`)),
    ...heldText(held),
  ]
}

const SHOWN_HELD = 20

function heldText(held: Judged['held']): string[] {
  if (held.length === 0) return []
  const shown = held.slice(0, SHOWN_HELD)
  const more = held.length > shown.length ? [`  and ${held.length - shown.length} more: see --json`] : []
  return [
    `${held.length} models keep their old price, as the newer one is doubted; take one with prices accept PROVIDER/MODEL:`,
    ...shown.map(({ provider, model, why }) => `  ${printable(`${provider}/${model}: ${why}`)}`),
    ...more,
  ]
}

function rowOf({ provider, model, what, before, after }: CatalogChange): string[] {
  const isGone = what === 'model' && after === null
  return [provider, model, what, before ?? '-', isGone ? 'no longer listed: keeps its price' : (after ?? '-')]
}

function describeChanges(changes: readonly CatalogChange[], from: string | null): string[] {
  const added = changes.filter(({ what, before }) => what === 'model' && before === null).length
  const gone = changes.filter(({ what, after }) => what === 'model' && after === null).length
  const rates = changes.length - added - gone
  return [
    `${added} new models, ${rates} changed rates (from ${from} on, or the day that the source says), ${gone} models no longer listed.`,
  ]
}
