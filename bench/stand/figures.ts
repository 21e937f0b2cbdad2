/** What one quantity was in several rounds. */
export interface Spread {
  readonly median: number
  readonly lowest: number
  readonly highest: number
  /** Holds the median of endless rounds in 95 of 100 runs, by the order of the figures alone; of fewer than nine: all of them. */
  readonly interval: readonly [from: number, to: number]
}

/** Of many durations within one run, in milliseconds; `NaN` where there were none. */
export interface Percentiles {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

/** @returns `null` where nothing was measured in any round */
export function spreadOf(figures: readonly (number | null)[]): Spread | null {
  const sorted = figures
    .filter((figure) => figure !== null && !Number.isNaN(figure))
    .toSorted((a, b) => Number(a) - Number(b))
  const [lowest] = sorted
  const highest = sorted.at(-1)
  if (typeof lowest !== 'number' || typeof highest !== 'number') return null
  const middle = (sorted.length - 1) / 2
  const median = (Number(sorted[Math.floor(middle)]) + Number(sorted[Math.ceil(middle)])) / 2
  // The count of figures below the median is binomial: 1.96 standard deviations around its half.
  const outside = Math.max(0, Math.floor(middle - 0.98 * Math.sqrt(sorted.length)))
  const interval = [Number(sorted[outside]), Number(sorted[sorted.length - 1 - outside])] as const
  return { median, lowest, highest, interval }
}

/** Nearest rank: the smallest value that at least this share of all values does not exceed. */
export function percentilesOf(durations: readonly number[]): Percentiles {
  const sorted = Float64Array.from(durations).sort()
  const at = (share: number) => sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] ?? Number.NaN
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) }
}

/** `items` in another order in each round: each is the first in turn, and none always follows the same one. */
export function inOrderOf<T>(items: readonly T[], round: number): readonly T[] {
  const first = Math.floor(round / 2) % Math.max(items.length, 1)
  const turned = [...items.slice(first), ...items.slice(0, first)]
  return round % 2 === 0 ? turned : turned.reverse()
}

/** Of ascending values the one that this share of them is below; `NaN` where there are none. */
export function quantile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
}
