import type { UtcDay } from '../../../domain/utc-day.ts'
import { PLACE_PRICES } from '../../../pricing/places/place-prices.ts'
import { BILLERS, type Biller, type InvoiceClass } from '../invoice-row.ts'
import { modelIn } from '../invoice-words.ts'
import type { InvoicedUse } from '../invoices-table.ts'
import type { OwnUse } from './own-use.ts'

/** One side of a cell. Amounts are 1e-12 USD, quantities millionths of one. */
export interface Side {
  quantity: bigint
  amount: bigint
}

/** Both sides of one class of one model on one day, as far as an invoice names tier and place. */
export interface Cell {
  readonly day: UtcDay
  readonly model: string
  /** `null`: the invoice does not say. */
  readonly class: InvoiceClass | null
  readonly tier: string
  readonly place: string
  readonly theirs: Side
  readonly ours: Side
  /** Of theirs, by account. */
  readonly accounts: Map<string, Side>
  /** So far amounts may differ by rounding. */
  rounding: bigint
  /** Whether some of theirs has no quantity, or ours none that could be compared. */
  lacksQuantity: boolean
  /** Whether all of ours is unpriced. */
  isUnpriced: boolean
}

/** Models of searches: they are billed apart from models, or with them. */
const SEARCHES = '(searches)'

/** What an invoice has, sorted by what it can be held against. */
export interface Laid {
  readonly cells: readonly Cell[]
  /** Use of no model that we counted, of a class of tokens. */
  readonly ofOtherModels: readonly InvoicedUse[]
  /** Use of no model at all, such as storage. */
  readonly fees: readonly InvoicedUse[]
}

/** Lays both sides over each other, by as much as the invoice says of each model. */
export function layCells(biller: Biller, invoiced: readonly InvoicedUse[], ours: readonly OwnUse[]): Laid {
  const models = [...new Set(ours.map(({ model }) => model))]
  const named = new Map<string, string | null>()
  const modelOf = ({ service, class: ofClass }: InvoicedUse) => {
    if (ofClass === 'search') return SEARCHES
    const known = named.get(service)
    if (known !== undefined) return known
    const found = modelIn(service, models)
    named.set(service, found)
    return found
  }
  const ofOtherModels: InvoicedUse[] = []
  const fees: InvoicedUse[] = []
  const byModel = new Map<string, InvoicedUse[]>()
  const isSearched = ours.some(({ class: ofClass }) => ofClass === 'search')
  for (const use of invoiced) {
    const model = modelOf(use)
    if (model === SEARCHES && !isSearched) fees.push(use)
    else if (model === null) (use.class === null ? fees : ofOtherModels).push(use)
    else {
      const ofModel = byModel.get(model)
      if (ofModel === undefined) byModel.set(model, [use])
      else ofModel.push(use)
    }
  }
  const ownByModel = Map.groupBy(ours, (use) => (use.class === 'search' ? SEARCHES : use.model))
  const cells: Cell[] = []
  const places = placesOf(biller)
  for (const model of new Set([...byModel.keys(), ...ownByModel.keys()])) {
    const theirs = byModel.get(model) ?? []
    const own = ownByModel.get(model) ?? []
    const says = {
      class: theirs.some((use) => use.class !== null) && own.every((use) => use.class !== null),
      tier: theirs.some(({ tier }) => tier !== null),
      place: theirs.some(({ place }) => place !== null),
    }
    const isKept = (use: InvoicedUse) => use.class !== null || !says.class
    fees.push(...theirs.filter((use) => !isKept(use)))
    cells.push(...cellsOf(model, says, theirs.filter(isKept), own, (place) => placeIn(place, places)))
  }
  return { cells, ofOtherModels, fees }
}

function cellsOf(
  model: string,
  says: { readonly class: boolean; readonly tier: boolean; readonly place: boolean },
  theirs: readonly InvoicedUse[],
  own: readonly OwnUse[],
  placeOf: (place: string | null) => string,
): readonly Cell[] {
  const cells = new Map<string, Cell>()
  const cellOf = (use: InvoicedUse | OwnUse, place: string) => {
    const of = {
      ...{ day: use.day, model, class: says.class ? use.class : null },
      ...{ tier: says.tier ? (use.tier ?? 'standard') : '', place: says.place ? place : '' },
    }
    const name = JSON.stringify(of)
    const known = cells.get(name)
    if (known !== undefined) return known
    const made: Cell = {
      ...of,
      ...{ theirs: { quantity: 0n, amount: 0n }, ours: { quantity: 0n, amount: 0n } },
      ...{ accounts: new Map(), rounding: 0n, lacksQuantity: !says.class, isUnpriced: true },
    }
    cells.set(name, made)
    return made
  }
  for (const use of theirs) {
    const cell = cellOf(use, placeOf(use.place))
    addTo(cell.theirs, use)
    cell.rounding += use.roundingPico
    if (use.quantityMicro === null) cell.lacksQuantity = true
    if (use.account === null) continue
    const side = cell.accounts.get(use.account) ?? { quantity: 0n, amount: 0n }
    addTo(side, use)
    cell.accounts.set(use.account, side)
  }
  for (const use of own) {
    const cell = cellOf(use, use.place)
    addTo(cell.ours, use)
    if (use.quantityMicro === null) cell.lacksQuantity = true
    if (use.amountPico !== 0n) cell.isUnpriced = false
  }
  return [...cells.values()]
}

function addTo(side: Side, use: Pick<OwnUse, 'quantityMicro' | 'amountPico'>): void {
  side.quantity += use.quantityMicro ?? 0n
  side.amount += use.amountPico
}

/** The places that have a price of their own. */
function placesOf(biller: Biller): ReadonlySet<string> {
  const ours: readonly string[] = BILLERS[biller]
  return new Set(
    PLACE_PRICES.flatMap(({ providers, tier }) =>
      providers.some((provider) => ours.includes(provider))
        ? [tier.replace(/^data-zone-.*/, 'data-zone')]
        : [],
    ),
  )
}

/** A place in our words. '': the usual one, or one that has no price of its own. */
function placeIn(place: string | null, places: ReadonlySet<string>): string {
  if (place === null || place === 'global') return ''
  if (places.has(place) || places.size === 0) return place
  return places.has('regional') ? 'regional' : ''
}
