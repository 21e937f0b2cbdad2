import type { PricesDocument } from '#prices/catalog-document.ts'
import type { CatalogEntries, DatedPrices } from '../catalog/catalog-entries.ts'
import { findListed } from '../catalog/catalog-find.ts'
import { pricesAt } from '../catalog/catalog-schedule.ts'
import { agree, sharedClasses } from '../sources/catalog-agreement.ts'
import { parseCatalog } from '../sources/catalog-parse.ts'
import { PLAIN_TOKENS } from './row-doubt.ts'

/** What other sources say of newer prices. */
export interface Witness {
  /** Whether two of them say the same, or as many as are `enough`, so that nothing is to be doubted. */
  confirms(provider: string, name: string, now: readonly PricesDocument[], enough?: number): boolean
  /** Where all that list the name say something else altogether; `null`: none does, or one agrees. */
  contradiction(provider: string, name: string, now: readonly PricesDocument[]): string | null
}

const ENOUGH = 2
/** More than that apart, one of two prices is a mistake. */
const FAR = 10

/** @param atMs When the newer prices would be in force. */
export function witnessOf(others: readonly CatalogEntries[], atMs: number): Witness {
  const said = (provider: string, name: string): readonly DatedPrices['byKey'][] =>
    others.flatMap((entries) => {
      const [found] = findListed(entries, { providerId: provider, name, makers: [] }).filter(
        ({ fit }) => fit === 'exact',
      )
      const prices = found === undefined ? null : pricesAt(found.model, atMs)
      return prices === null || prices.prices.byKey.size === 0 ? [] : [prices.prices.byKey]
    })
  return {
    confirms(provider, name, now, enough = ENOUGH) {
      const prices = parsed(now)
      return said(provider, name).filter((other) => prices !== null && says(other, prices)).length >= enough
    },
    contradiction(provider, name, now) {
      const prices = parsed(now)
      const shared = said(provider, name).map((other) =>
        prices === null ? [] : sharedClasses(prices, other),
      )
      // Sources often differ on caches and pictures, and a line that is mixed up shows in its input.
      const isFar = (classes: ReturnType<typeof sharedClasses>) =>
        classes.some(({ rate, one, other }) => {
          if (rate !== 'input') return false
          const [a, b] = [one, other].map(({ base }) => Number(base.digits) / 10 ** base.scale)
          return a !== undefined && b !== undefined && (a > b * FAR || a < b / FAR)
        })
      return shared.length > 0 && shared.every(isFar) ? 'is new, and other sources say another price' : null
    },
  }
}

/** Whether a source agrees, and has no price of input or output that the other lacks. */
function says(other: DatedPrices['byKey'], prices: DatedPrices['byKey']): boolean {
  return agree(prices, other) && PLAIN_TOKENS.every((key) => prices.has(key) || !other.has(key))
}

/** The prices at a plain hour of the first day; `null`: they cannot be read. */
function parsed([first]: readonly PricesDocument[]): DatedPrices['byKey'] | null {
  if (first === undefined) return null
  const model = { id: 'x', match: { equals: 'x' }, prices: first.prices }
  const { entries } = parseCatalog([{ id: 'x', models: [model] }], 'x')
  return entries?.providers.get('x')?.models[0]?.prices[0]?.byKey ?? null
}
