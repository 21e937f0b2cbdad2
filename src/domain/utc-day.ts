/** A calendar day in UTC, written YYYY-MM-DD. */
export type UtcDay = string

const MS_PER_DAY = 86_400_000

let cachedDay: { readonly number: number; readonly text: UtcDay } = { number: Number.NaN, text: '' }

/** The UTC day on which `epochMs` (milliseconds since 1970) lies. */
export function utcDayOf(epochMs: number): UtcDay {
  const number = Math.floor(epochMs / MS_PER_DAY)
  if (number !== cachedDay.number) {
    cachedDay = { number, text: new Date(number * MS_PER_DAY).toISOString().slice(0, 10) }
  }
  return cachedDay.text
}

/** The UTC day `days` days after `day` (before it when negative). */
export function addDays(day: UtcDay, days: number): UtcDay {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * MS_PER_DAY).toISOString().slice(0, 10)
}

/** A calendar day that exists, as YYYY-MM-DD. PostgreSQL has no year 0. */
export function isDay(text: string): boolean {
  if (!/^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return false
  const midnight = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text)
}
