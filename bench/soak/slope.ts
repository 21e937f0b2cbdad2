/** A figure at a moment. */
export interface Sample {
  /** Hours since the first. */
  readonly atHours: number
  readonly value: number
}

/** A straight line through samples, by least squares. */
export interface Fit {
  /** Where it stands in the middle of the samples. */
  readonly mean: number
  readonly perHour: number
  /** Standard error of `perHour`: the samples scatter. Each wave of a saw counts as scatter, too. */
  readonly error: number
}

/** How much a figure may grow in an hour. */
export interface Bound {
  /** In the figure's unit. */
  readonly absolute: number
  /** Or as a share of its mean, where that is more. */
  readonly share: number
}

/** Fewer samples than these show nothing. */
export const JUDGED_FROM = 20
/** A slope within twice its error of the bound may be scatter. */
const CERTAIN = 2

/** The line; `null`: three samples at least are needed. */
export function fitLine(samples: readonly Sample[]): Fit | null {
  const count = samples.length
  if (count < 3) return null
  const middle = samples.reduce((sum, { atHours }) => sum + atHours, 0) / count
  const mean = samples.reduce((sum, { value }) => sum + value, 0) / count
  let spread = 0
  let shared = 0
  for (const { atHours, value } of samples) {
    spread += (atHours - middle) ** 2
    shared += (atHours - middle) * (value - mean)
  }
  if (spread === 0) return null
  const perHour = shared / spread
  const residue = samples.reduce(
    (sum, { atHours, value }) => sum + (value - mean - perHour * (atHours - middle)) ** 2,
    0,
  )
  return { mean, perHour, error: Math.sqrt(residue / (count - 2) / spread) }
}

/** What a figure may grow by in an hour. */
export function limitOf({ absolute, share }: Bound, { mean }: Fit): number {
  return Math.max(absolute, share * Math.abs(mean))
}

/** Whether it certainly grows by more than it may. */
export function growsTooFast(line: Fit, bound: Bound): boolean {
  return line.perHour - CERTAIN * line.error > limitOf(bound, line)
}

/** The last two thirds: until then caches fill, and a journal has nothing old enough to delete. */
export function lastTwoThirds<T>(items: readonly T[]): readonly T[] {
  return items.slice(Math.floor(items.length / 3))
}
