/** When something was made, as providers write it: seconds since 1970, or a date of ISO 8601. `null`: not said. */
export function madeAtMs(value: unknown): number | null {
  const ms =
    typeof value === 'string' ? Date.parse(value) : typeof value === 'number' ? value * 1_000 : Number.NaN
  return Number.isFinite(ms) && ms > 0 ? Math.round(ms) : null
}
