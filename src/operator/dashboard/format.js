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
const longDay = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'long',
  timeZone: 'UTC',
})

/** Dollars to read at a glance: cents, or three digits of what is less than a dime. */
export function usd(amount) {
  return amount === 0 || Math.abs(amount) >= 0.1 ? cents.format(amount) : small.format(amount)
}

/** Round dollars at the side of a chart. */
export function tickUsd(amount) {
  return Number.isInteger(amount) ? dollars.format(amount) : usd(amount)
}

/** Dollars with every digit there is. */
export function exactUsd(amount) {
  return exact.format(amount)
}

export function count(number) {
  return whole.format(number)
}

/** A large count to read at a glance: `1.2M`. */
export function roughly(number) {
  return number < 10_000 ? whole.format(number) : compact.format(number)
}

export function milliseconds(ms) {
  if (ms < 1_000) return `${whole.format(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${whole.format(ms / 60_000)} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}

export function bytes(size) {
  if (size < 1_024) return `${size} B`
  if (size < 1_048_576) return `${(size / 1_024).toFixed(1)} KiB`
  return `${(size / 1_048_576).toFixed(1)} MiB`
}

/** `21 Nov`, from YYYY-MM-DD. */
export function shortDay(text) {
  return day.format(new Date(`${text}T00:00:00Z`))
}

/** `Sat 21 November`, from YYYY-MM-DD. */
export function fullDay(text) {
  return longDay.format(new Date(`${text}T00:00:00Z`))
}

/** The `days` UTC days that end with today, as YYYY-MM-DD, oldest first. */
export function lastDays(days) {
  const today = Date.now()
  return Array.from({ length: days }, (_, index) =>
    new Date(today - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  )
}

export function plural(number, one, many = `${one}s`) {
  return `${whole.format(number)} ${number === 1 ? one : many}`
}
