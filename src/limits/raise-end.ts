import { DURATION_FORM, parseDurationSeconds } from '../domain/duration.ts'

const MOMENT =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,3})?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?$/
export const RAISE_END = new RegExp(`${MOMENT.source}|${DURATION_FORM.source}`)
const FURTHEST_MS = 100 * 366 * 86_400_000

/** How the end of a raise is written. */
export const RAISE_END_FORMS = 'a time such as 2026-12-01T18:00Z, a UTC day, or a time from now such as 4h'

export type RaiseEnd =
  | { readonly kind: 'end'; readonly untilMs: number }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'past' }

/** The moment at which a raise ends; a day stands for its first moment. */
export function parseRaiseEnd(text: string, nowMs: number): RaiseEnd {
  const seconds = parseDurationSeconds(text)
  const untilMs = seconds !== null ? nowMs + seconds * 1000 : readMoment(text)
  if (untilMs === null || untilMs - nowMs > FURTHEST_MS) return { kind: 'unreadable' }
  return untilMs > nowMs ? { kind: 'end', untilMs } : { kind: 'past' }
}

/** `null`: it is none, or names a day that does not exist, which `Date` would take for another one. */
function readMoment(text: string): number | null {
  if (!MOMENT.test(text)) return null
  const day = Date.parse(text.slice(0, 10))
  if (Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== text.slice(0, 10)) return null
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? null : ms
}
