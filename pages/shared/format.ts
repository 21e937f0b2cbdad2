const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
const cents = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })
const dollars = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  notation: 'compact',
  maximumFractionDigits: 1,
})
const small = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumSignificantDigits: 3,
})
const exact = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 12,
})
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const month = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const longDay = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'long',
  timeZone: 'UTC',
})

/** Dollars to read at a glance: cents, or three digits of what is less than a dime. */
export function usd(amount: number): string {
  return amount === 0 || Math.abs(amount) >= 0.1 ? cents.format(amount) : small.format(amount)
}

/** Round dollars at the side of a chart. */
export function tickUsd(amount: number): string {
  return Number.isInteger(amount) ? dollars.format(amount) : usd(amount)
}

/** Dollars with every digit there is. */
export function exactUsd(amount: number | string): string {
  return exact.format(amount as number)
}

export function count(number: number): string {
  return whole.format(number)
}

/** A large count to read at a glance: `1.2M`. */
export function roughly(number: number): string {
  return number < 10_000 ? whole.format(number) : compact.format(number)
}

export function milliseconds(ms: number): string {
  if (ms < 1_000) return `${whole.format(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${whole.format(ms / 60_000)} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}

export function bytes(size: number): string {
  if (size < 1_024) return `${size} B`
  if (size < 1_048_576) return `${(size / 1_024).toFixed(1)} KiB`
  if (size < 1_073_741_824) return `${(size / 1_048_576).toFixed(1)} MiB`
  return `${(size / 1_073_741_824).toFixed(1)} GiB`
}

/** `21 Nov`, from YYYY-MM-DD. */
export function shortDay(text: string): string {
  return day.format(new Date(`${text}T00:00:00Z`))
}

/** `21 Nov`, or `21 Nov to 2 Dec`. */
export function shortDays(from: string, to: string): string {
  return from === to ? shortDay(from) : `${shortDay(from)} to ${shortDay(to)}`
}

/** `September 2026`, from YYYY-MM. */
export function fullMonth(text: string): string {
  return month.format(new Date(`${text}-01T00:00:00Z`))
}

/** `Sat 21 November`, from YYYY-MM-DD. */
export function fullDay(text: string): string {
  return longDay.format(new Date(`${text}T00:00:00Z`))
}

/** The UTC month of now, `2026-11`. */
export function thisMonth(): string {
  return new Date().toISOString().slice(0, 7)
}

/** `21 Nov, 14:03:09`, UTC, from what the gateway writes as `2026-11-21T14:03:09.123Z`. */
export function moment(text: string | null): string {
  return text === null ? 'never' : `${shortDay(text.slice(0, 10))}, ${text.slice(11, 19)}`
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${whole.format(number)} ${number === 1 ? one : many}`
}

/** `no_price` as words. */
export function words(name: string): string {
  return name.replaceAll('_', ' ')
}

/** `no_price` as a heading. */
export function titled(name: string): string {
  return words(`${name.slice(0, 1).toUpperCase()}${name.slice(1)}`)
}

/** A part of a whole, as `12.3%`; `–` where there is no whole. */
export function percent(part: number, whole: number): string {
  return whole === 0 ? '–' : `${((part / whole) * 100).toFixed(1)}%`
}

/** How much more or less than before: `+12%`, `8.1×`, `new`. `null`: nothing is said of nothing. */
export function changeText(now: number, before: number): string | null {
  if (before === 0) return now === 0 ? null : 'new'
  const ratio = now / before
  if (ratio >= 3) return `${ratio.toFixed(1)}×`
  const change = Math.round((ratio - 1) * 100)
  return change === 0 ? '±0%' : `${change > 0 ? '+' : '−'}${Math.abs(change)}%`
}
