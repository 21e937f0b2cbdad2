import type { ErrorShape } from '../../http/error-shape.ts'
import type { RateHeader, RateHeaders } from '../../limits/engine/limiter.ts'

/** Names in lower case, and values: an answer's headers about rates, which replace the upstream's of these names. */
export type AnswerRates = Readonly<Record<string, string>>

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/**
 * What is left of the client's rates, under the names that the client library reads; `null`: there are none.
 *
 * @param nowMs Milliseconds since 1970: Anthropic's resets are points in time.
 */
export function renderRates(
  { requests, tokens }: RateHeaders,
  shape: ErrorShape,
  nowMs: number,
): AnswerRates | null {
  if (requests === null && tokens === null) return null
  const headers: Record<string, string> = {}
  if (requests !== null) addRate(headers, 'requests', requests, shape, nowMs)
  if (tokens !== null) addRate(headers, 'tokens', tokens, shape, nowMs)
  return headers
}

function addRate(
  headers: Record<string, string>,
  what: 'requests' | 'tokens',
  { limit, remaining, resetMs }: RateHeader,
  shape: ErrorShape,
  nowMs: number,
): void {
  const left = String(Math.max(0, Math.floor(remaining)))
  if (shape === 'anthropic') {
    headers[`anthropic-ratelimit-${what}-limit`] = String(limit)
    headers[`anthropic-ratelimit-${what}-remaining`] = left
    headers[`anthropic-ratelimit-${what}-reset`] = secondOf(nowMs + resetMs)
  } else {
    headers[`x-ratelimit-limit-${what}`] = String(limit)
    headers[`x-ratelimit-remaining-${what}`] = left
    headers[`x-ratelimit-reset-${what}`] = renderDuration(resetMs)
  }
}

/** RFC 3339, rounded up: who waits until then has not come too early. */
function secondOf(atMs: number): string {
  return `${new Date(Math.ceil(atMs / SECOND) * SECOND).toISOString().slice(0, 19)}Z`
}

/** A duration as OpenAI writes it: `20ms`, `1s`, `8.64s`, `6m0s`, `1h0m0s`. */
export function renderDuration(durationMs: number): string {
  const ms = Math.max(0, Math.ceil(durationMs))
  if (ms > 0 && ms < SECOND) return `${ms}ms`
  const seconds = `${(ms % MINUTE) / SECOND}s`
  if (ms < MINUTE) return seconds
  const minutes = `${Math.floor((ms % HOUR) / MINUTE)}m${seconds}`
  return ms < HOUR ? minutes : `${Math.floor(ms / HOUR)}h${minutes}`
}
