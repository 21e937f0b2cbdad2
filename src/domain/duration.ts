const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

/** The form of a duration. Its digits bound it: the longest are some centuries, which every date can be off. */
export const DURATION_FORM = /^(?:0|[0-9]{1,9}s|[0-9]{1,8}m|[0-9]{1,6}h|[0-9]{1,5}d|[0-9]{1,4}w)$/

/** A duration as operators write it, such as `90d`, `24h`, `15m` or `0`, in seconds; `null`: invalid. */
export function parseDurationSeconds(text: string): number | null {
  if (!DURATION_FORM.test(text)) return null
  return Number.parseInt(text, 10) * (SECONDS[text.at(-1) ?? ''] ?? 0)
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
