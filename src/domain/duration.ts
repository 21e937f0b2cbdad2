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
