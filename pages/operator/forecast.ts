/** What one UTC day cost. */
export interface CostOfDay {
  /** YYYY-MM-DD */
  readonly day: string
  readonly usd: number
}

export interface Forecast {
  /** What the month has cost up to now. */
  readonly spentUsd: number
  /** What it will have cost at its end. */
  readonly expectedUsd: number
  /** Four in five months like this end between the two. */
  readonly lowUsd: number
  readonly highUsd: number
  /** Whole days that it was reckoned from. */
  readonly fromDays: number
}

/** Weeks that weekdays are averaged over: more would not see that use has changed. */
const WEEKS = 4
/** With fewer whole days than this, one day would be all that is known. */
const LEAST_DAYS = 3
/** Of a normal distribution, four fifths lie within so many standard deviations. */
const FOUR_FIFTHS = 1.2816
const DAY_MS = 86_400_000

/**
 * What the month of the last day will cost: what it has cost, and for each day that is left the mean of the same weekday
 * of the last four weeks. Of today what is more counts: its cost so far, or that mean. The range is from how far single
 * days were off their weekday's mean.
 *
 * @param days each day once, the oldest first; the last is today, and goes on
 * @returns `null`: too little is known
 */
export function forecastMonth(days: readonly CostOfDay[]): Forecast | null {
  const today = days.at(-1)
  if (today === undefined) return null
  const whole = days.slice(0, -1).slice(-WEEKS * 7)
  const firstUsed = whole.findIndex(({ usd }) => usd !== 0)
  const known = firstUsed < 0 ? [] : whole.slice(firstUsed)
  if (known.length < LEAST_DAYS) return null
  const all = meanOf(known)
  const meanOn = (day: string) => {
    const same = known.filter((other) => weekdayOf(other.day) === weekdayOf(day))
    return same.length < 2 ? all : meanOf(same)
  }
  const spentUsd = sumOf(days.filter(({ day }) => monthOf(day) === monthOf(today.day)))
  const restOfToday = Math.max(0, meanOn(today.day) - today.usd)
  const left = daysLeftIn(today.day)
  const expectedUsd = spentUsd + restOfToday + left.reduce((sum, day) => sum + meanOn(day), 0)
  const square = known.reduce((sum, { day, usd }) => sum + (usd - meanOn(day)) ** 2, 0)
  const offUsd = Math.sqrt(square / (known.length - 1)) * FOUR_FIFTHS * Math.sqrt(left.length + 0.5)
  return {
    spentUsd,
    expectedUsd,
    lowUsd: Math.max(spentUsd, expectedUsd - offUsd),
    highUsd: expectedUsd + offUsd,
    fromDays: known.length,
  }
}

function sumOf(days: readonly CostOfDay[]): number {
  return days.reduce((sum, { usd }) => sum + usd, 0)
}

function meanOf(days: readonly CostOfDay[]): number {
  return sumOf(days) / days.length
}

function monthOf(day: string): string {
  return day.slice(0, 7)
}

function weekdayOf(day: string): number {
  return new Date(`${day}T00:00:00Z`).getUTCDay()
}

function daysLeftIn(day: string): string[] {
  const left: string[] = []
  for (let at = Date.parse(`${day}T00:00:00Z`) + DAY_MS; ; at += DAY_MS) {
    const next = new Date(at).toISOString().slice(0, 10)
    if (monthOf(next) !== monthOf(day)) return left
    left.push(next)
  }
}
