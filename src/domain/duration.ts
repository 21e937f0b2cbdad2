const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }
const MAX_SECONDS = 100 * 366 * 86_400

/**
 * A duration as operators write it, such as `90d`, `24h`, `15m` or `0`, in seconds; `null`: invalid, or
 * longer than a century.
 */
export function parseDurationSeconds(text: string): number | null {
  if (text === '0') return 0
  const match = /^(\d{1,9})([smhdw])$/.exec(text)
  const seconds = Number(match?.[1]) * (SECONDS[match?.[2] ?? ''] ?? Number.NaN)
  return seconds <= MAX_SECONDS ? seconds : null
}

const UNITS = [
  [86_400_000, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
] as const

/** A length of time for people, by its size alone: `400 days`, `10 minutes`, `2.0 s`. */
export function describeMs(ms: number): string {
  const length = Math.abs(ms)
  // Two of a unit and more: `90 minutes` says more than `2 hours`.
  for (const [unitMs, name] of UNITS)
    if (length >= 2 * unitMs) return `${Math.round(length / unitMs)} ${name}`
  return `${(length / 1_000).toFixed(1)} s`
}
