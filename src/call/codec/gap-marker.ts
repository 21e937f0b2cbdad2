import { integerFrom, isObject, textFrom, throwMalformed } from './json-checks.ts'

/** A body that stands for records that exist nowhere any more: `from` to `to`, both included. */
export interface GapMarker {
  readonly void: { readonly from: number; readonly to: number; readonly reason: string }
}

/** The body of a gap marker's entry. */
export function serialiseGapMarker(from: number, to: number, reason: string): string {
  return `{"void":{"from":${from},"to":${to},"reason":${JSON.stringify(reason)}}}`
}

/** From the value under the key `void`; throws `RefusedValue`. */
export function gapMarkerFrom(value: unknown): GapMarker {
  if (!isObject(value)) return throwMalformed()
  const from = integerFrom(value.from, Number.MAX_SAFE_INTEGER)
  const to = integerFrom(value.to, Number.MAX_SAFE_INTEGER)
  const reason = textFrom(value.reason)
  return from >= 1 && from <= to ? { void: { from, to, reason } } : throwMalformed()
}
