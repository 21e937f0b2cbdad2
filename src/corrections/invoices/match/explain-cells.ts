import { picoToUsdText } from '../../../domain/pico-usd.ts'
import { addDays } from '../../../domain/utc-day.ts'
import type { Cell, Side } from './cells.ts'
import { type DifferenceReason, type InvoiceDifference, sizeOf } from './differences.ts'

/**
 * Takes the difference between both sides of cells apart. Each part that is taken leaves the cell that much smaller, so
 * that all parts add up to what the sides differ by, to the pico-dollar.
 */
export function explainCells(cells: readonly Cell[]): readonly InvoiceDifference[] {
  const found: InvoiceDifference[] = []
  for (const group of groupsOf(cells, ofClass)) measure(group)
  takeOtherAccounts(cells, found)
  for (const ofModel of Map.groupBy(cells, ({ model }) => model).values()) {
    for (const group of groupsOf(ofModel, ofPrice)) if (isByAmount(group)) takeOtherPrice(group, found)
    takeOtherTiers(ofModel, found)
    takeLate(ofModel, found)
  }
  for (const cell of cells) takeRest(cell, found)
  return found
}

/** Cells of all days whose calls are counted in the same unit. */
const ofClass = (cell: Cell) => JSON.stringify([cell.model, cell.class])
/** Those of them that have the same price. */
const ofPrice = (cell: Cell) => JSON.stringify([ofClass(cell), cell.tier, cell.place])

function groupsOf(cells: readonly Cell[], name: (cell: Cell) => string): readonly (readonly Cell[])[] {
  return [...Map.groupBy(cells, name).values()]
}

/** Units of invoices: single ones, thousands, millions of them. */
const SCALES = [1n, 1_000n, 1_000_000n]
/** Prices may differ by as much and be of the same unit. */
const MOST_TIMES = 8n

/** Brings quantities of both sides to one unit, by what one costs. Where that fails amounts stand for quantities. */
function measure(group: readonly Cell[]): void {
  const [theirs, ours] = [sumOf(group, 'theirs'), sumOf(group, 'ours')]
  const isComparable = group.every((cell) => !cell.lacksQuantity) && theirs.quantity > 0n
  const isPriced = theirs.amount > 0n && ours.amount > 0n && ours.quantity > 0n
  const scale = SCALES.find((times) => {
    if (!isPriced) return true
    const [one, other] = [theirs.amount * ours.quantity, ours.amount * theirs.quantity * times]
    return one <= other * MOST_TIMES && other <= one * MOST_TIMES
  })
  const isOneSided = theirs.quantity === 0n && theirs.amount === 0n
  for (const cell of group) {
    if (isOneSided && !cell.lacksQuantity) continue
    if (!isComparable || scale === undefined) {
      cell.lacksQuantity = true
      continue
    }
    for (const side of [cell.theirs, ...cell.accounts.values()]) side.quantity *= scale
  }
}

function sumOf(cells: readonly Cell[], which: 'theirs' | 'ours'): Side {
  const sum = { quantity: 0n, amount: 0n }
  for (const cell of cells) {
    sum.quantity += cell[which].quantity
    sum.amount += cell[which].amount
  }
  return sum
}

function isByAmount(group: readonly Cell[]): boolean {
  return group.some((cell) => cell.lacksQuantity)
}

/** A token is a million of these: less was rounded away. */
const SMALLEST_QUANTITY = 500_000n

/** How much more the invoice has, by quantity or by amount; below 0: how much less. */
function surplusOf(cell: Cell): bigint {
  const { theirs, ours, rounding, lacksQuantity } = cell
  if (lacksQuantity && isUnpriced(cell)) return 0n
  const surplus = lacksQuantity ? theirs.amount - ours.amount : theirs.quantity - ours.quantity
  return sizeOf(surplus) <= (lacksQuantity ? rounding : SMALLEST_QUANTITY) ? 0n : surplus
}

/** Its calls were counted, and cost nothing here: amounts say nothing of how many they were. */
function isUnpriced({ ours, isUnpriced: hasNoPrice }: Cell): boolean {
  return hasNoPrice && ours.quantity > 0n
}

/** Takes so much from a side, and gives what it costs there. */
function takeFrom(cell: Cell, which: 'theirs' | 'ours', size: bigint): bigint {
  const side = cell[which]
  if (cell.lacksQuantity) {
    side.amount -= size
    return size
  }
  const amount = side.quantity === 0n ? 0n : (side.amount * size) / side.quantity
  side.quantity -= size
  side.amount -= amount
  return amount
}

function differenceIn(
  cell: Cell,
  found: DifferenceReason,
  amountPico: bigint,
  remark = '',
): InvoiceDifference {
  return { class: found, day: cell.day, model: cell.model, remark, amountPico }
}

/** An account is none of ours where all that it used is more than we counted, wherever it used something. */
function takeOtherAccounts(cells: readonly Cell[], found: InvoiceDifference[]): void {
  const uses = cells.flatMap((cell) => [...cell.accounts.keys()].map((account) => ({ account, cell })))
  for (const [account, ofAccount] of Map.groupBy(uses, (use) => use.account)) {
    const used = ofAccount.map(({ cell }) => cell)
    const isOther = used.every((cell) => {
      const side = cell.accounts.get(account)
      const size = cell.lacksQuantity ? side?.amount : side?.quantity
      const slack = cell.lacksQuantity ? cell.rounding : SMALLEST_QUANTITY
      return size !== undefined && size > 0n && surplusOf(cell) + slack >= size
    })
    if (!isOther) continue
    for (const cell of used) {
      const { quantity, amount } = cell.accounts.get(account) ?? { quantity: 0n, amount: 0n }
      cell.theirs.quantity -= quantity
      cell.theirs.amount -= amount
      found.push(differenceIn(cell, 'other_key', amount, account))
    }
  }
}

/** Without quantities another price is one that all days have: theirs is ours times the same factor. */
function takeOtherPrice(group: readonly Cell[], found: InvoiceDifference[]): void {
  const both = group.filter(({ theirs, ours }) => theirs.amount > 0n && ours.amount > 0n)
  const different = both.filter((cell) => surplusOf(cell) !== 0n)
  if (different.length < 2 || different.length < both.length) return
  const [theirs, ours] = [sumOf(both, 'theirs').amount, sumOf(both, 'ours').amount]
  const isAlike = both.every(
    (cell) =>
      sizeOf(cell.theirs.amount * ours - cell.ours.amount * theirs) <= (cell.rounding + 1n) * (ours + theirs),
  )
  if (!isAlike) return
  for (const cell of different) {
    const amount = cell.theirs.amount - cell.ours.amount
    cell.theirs.amount = cell.ours.amount
    found.push(differenceIn(cell, 'price', amount, `${percentOf(theirs, ours)} of our price`))
  }
}

function percentOf(part: bigint, whole: bigint): string {
  return `${Number((part * 10_000n) / whole) / 100} %`
}

/** What one day has too much at one tier or place, and too little at another, is the same calls. */
function takeOtherTiers(cells: readonly Cell[], found: InvoiceDifference[]): void {
  const name = ({ day, class: one }: Cell) => JSON.stringify([day, one])
  for (const ofDay of Map.groupBy(cells, name).values()) {
    for (const theirs of ofDay.filter((cell) => surplusOf(cell) > 0n))
      for (const ours of ofDay.filter((cell) => surplusOf(cell) < 0n)) {
        const [more, less] = [surplusOf(theirs), -surplusOf(ours)]
        if (more <= 0n || less <= 0n) continue
        const isByAmounts = theirs.lacksQuantity
        if (isByAmounts !== ours.lacksQuantity) continue
        if (isByAmounts && (more > less * MOST_TIMES || less > more * MOST_TIMES)) continue
        const size = more < less ? more : less
        const [taken, left] = isByAmounts
          ? [takeFrom(theirs, 'theirs', more), takeFrom(ours, 'ours', less)]
          : [takeFrom(theirs, 'theirs', size), takeFrom(ours, 'ours', size)]
        const isTier = theirs.tier !== ours.tier
        const remark = isTier
          ? `${theirs.tier} there, ${ours.tier} here`
          : `${theirs.place || 'usual'} there, ${ours.place || 'usual'} here`
        if (sizeOf(taken - left) > theirs.rounding)
          found.push(differenceIn(theirs, isTier ? 'tier' : 'place', taken - left, remark))
        else theirs.theirs.amount += taken - left
      }
  }
}

/** What one day has too little, and the one beside it too much, moved over midnight. */
function takeLate(cells: readonly Cell[], found: InvoiceDifference[]): void {
  const name = ({ class: one, tier }: Cell) => JSON.stringify([one, tier])
  for (const group of Map.groupBy(cells, name).values()) {
    const less = group.filter((cell) => surplusOf(cell) < 0n).toSorted((a, b) => (a.day < b.day ? -1 : 1))
    for (const from of less)
      for (const day of [addDays(from.day, 1), addDays(from.day, -1)])
        for (const to of group.filter((cell) => cell.day === day)) {
          const [missing, more] = [-surplusOf(from), surplusOf(to)]
          if (missing <= 0n || more <= 0n || from.lacksQuantity !== to.lacksQuantity) continue
          const size = missing < more ? missing : more
          found.push(
            differenceIn(from, 'late', -takeFrom(from, 'ours', size), `counted as of ${to.day} there`),
            differenceIn(to, 'late', takeFrom(to, 'theirs', size), `counted as of ${from.day} here`),
          )
        }
  }
}

/** What one day and class is left with. */
function takeRest(cell: Cell, found: InvoiceDifference[]): void {
  const surplus = surplusOf(cell)
  const { theirs, ours, lacksQuantity, rounding } = cell
  if (surplus > 0n && !lacksQuantity) {
    const amount = takeFrom(cell, 'theirs', surplus)
    if (amount !== 0n) found.push(differenceIn(cell, 'other_key', amount))
  }
  if (surplus < 0n && !lacksQuantity) {
    const amount = takeFrom(cell, 'ours', -surplus)
    if (amount !== 0n) found.push(differenceIn(cell, 'unexplained', -amount, 'counted here, not invoiced'))
  }
  const rest = theirs.amount - ours.amount
  if (rest === 0n) return
  if (sizeOf(rest) <= rounding) found.push(differenceIn(cell, 'rounding', rest))
  else if (isUnpriced(cell)) found.push(differenceIn(cell, 'price', rest, 'unpriced here'))
  else if (!lacksQuantity) found.push(differenceIn(cell, 'price', rest, pricesOf(cell)))
  else found.push(differenceIn(cell, 'unexplained', rest))
}

function pricesOf({ theirs, ours }: Cell): string {
  const perMillion = ({ amount, quantity }: Side) =>
    quantity === 0n ? '0' : picoToUsdText(((amount * 1_000_000n) / quantity) * 1_000_000n)
  return `for a million ${perMillion(theirs)} there, ${perMillion(ours)} here`
}
