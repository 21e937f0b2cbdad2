import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import { isChineseHoliday } from '../corrections/chinese-holidays.ts'
import type { CatalogModel, CatalogRate, DatedPrices, PriceConstraint } from './catalog-entries.ts'

/** A model's prices at a moment, and how long the same answer holds. */
export interface PricesNow {
  readonly prices: DatedPrices
  /** The day they took effect; `null`: no beginning known. */
  readonly from: UtcDay | null
  /** As `LinearDefinition.hours`. */
  readonly hours: string | null
  /** Milliseconds since 1970; within one UTC day, `untilMs` excluded. */
  readonly fromMs: number
  readonly untilMs: number
}

export const MS_PER_DAY = 86_400_000

/**
 * What a model's source lists at a service tier: of each class the first variant that is in force, and has a price above
 * nothing. `null`: it lists nothing of that tier then.
 */
export function tierPricesOn(
  { variants = [] }: CatalogModel,
  tier: string,
  day: UtcDay,
): DatedPrices['byKey'] | null {
  const byKey = new Map<string, CatalogRate>()
  for (const variant of variants) {
    if (variant.tier !== tier || (variant.from !== null && variant.from > day)) continue
    for (const [key, rate] of variant.byKey) if (!byKey.has(key)) byKey.set(key, rate)
  }
  return byKey.size === 0 ? null : byKey
}

/** Which of a model's prices hold at `atMs`: the last in the list whose constraint is met, else the first. */
export function pricesAt(model: CatalogModel, atMs: number): PricesNow | null {
  const midnightMs = Math.floor(atMs / MS_PER_DAY) * MS_PER_DAY
  const timeMs = atMs - midnightMs
  const day = utcDayOf(atMs)
  const prices =
    model.prices.findLast(({ constraint }) => isMet(constraint, day, timeMs, isWeekday(midnightMs))) ??
    model.prices.at(0) ??
    null
  if (prices === null) return null
  // What holds at every hour of the day hides what is listed before it.
  const base = model.prices.findLastIndex(
    ({ constraint }) => constraint?.kind !== 'hours' && isMet(constraint, day, timeMs, isWeekday(midnightMs)),
  )
  const turns = model.prices
    .slice(base + 1)
    .flatMap(({ constraint }) =>
      constraint?.kind === 'hours' && hasBegun(constraint, day) ? [constraint.startMs, constraint.endMs] : [],
    )
  const { constraint } = prices
  return {
    prices,
    from:
      constraint?.day !== undefined && constraint.day <= day ? constraint.day : (model.inForceFrom ?? null),
    hours: constraint?.kind === 'hours' ? hoursText(constraint) : turns.length > 0 ? 'other' : null,
    fromMs: midnightMs + Math.max(0, ...turns.filter((turn) => turn <= timeMs)),
    untilMs: midnightMs + Math.min(MS_PER_DAY, ...turns.filter((turn) => turn > timeMs)),
  }
}

/**
 * Whether the prices of a model on a day are known to have held then: its source says since or until when they did, or they
 * were seen by then. Else they are those of now, and what they were is unknown.
 */
export function isKnownOn({ prices, knownSince }: CatalogModel, now: DatedPrices, day: UtcDay): boolean {
  if (knownSince === undefined || day >= knownSince) return true
  const began = now.constraint?.day
  if (began !== undefined) return began <= day
  // Days after the first that is known are of refreshes here, and say nothing of what was before.
  return prices.some(({ constraint }) => {
    const ended = constraint?.day
    return ended !== undefined && ended > day && ended <= knownSince
  })
}

function isMet(constraint: PriceConstraint | null, day: UtcDay, timeMs: number, weekday: boolean): boolean {
  if (constraint === null) return true
  if (!hasBegun(constraint, day)) return false
  if (constraint.kind === 'from') return true
  if (constraint.weekdaysOnly === true && !weekday) return false
  if (constraint.notOn === 'chinese_holidays' && isChineseHoliday(day)) return false
  const { startMs, endMs } = constraint
  return endMs < startMs ? timeMs >= startMs || timeMs < endMs : timeMs >= startMs && timeMs < endMs
}

function isWeekday(midnightMs: number): boolean {
  const day = new Date(midnightMs).getUTCDay()
  return day >= 1 && day <= 5
}

function hasBegun({ day: first }: PriceConstraint, day: UtcDay): boolean {
  return first === undefined || first <= day
}

function hoursText({ startMs, endMs }: { startMs: number; endMs: number }): string {
  return `${clock(startMs)}-${clock(endMs)}`
}

/** `00:30`, or to the millisecond where it is not a whole minute. */
function clock(ms: number): string {
  const text = new Date(ms).toISOString()
  return ms % 60_000 === 0 ? text.slice(11, 16) : text.slice(11, 23)
}
