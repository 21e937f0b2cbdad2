import { printable, renderTable } from '../../operations/table.ts'
import type { CatalogChange } from '../history/catalog-changes.ts'
import type { Judged } from '../refresh/take-prices.ts'

const SHOWN_CHANGES = 60

/** The changes, and the doubts about them, as text. */
export function judgedText({ changes, doubts, held, from, catalog }: Judged): string[] {
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
