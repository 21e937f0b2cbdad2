/**
 * Upper bounds of the latency histogram's buckets, in microseconds, each included; a last bucket takes all above.
 * From 1 ms to 2^21 ms (35 minutes) in steps of the square root of two, so that a percentile read from the
 * buckets is off by at most a fifth. Fixed: the totals of past days are kept in these buckets.
 */
export const LATENCY_BOUNDS_US: readonly number[] = Array.from({ length: 43 }, (_, step) =>
  Math.round(1000 * 2 ** (step / 2)),
)

/** Buckets of the histogram: one for each bound, and the last. */
export const LATENCY_BUCKETS = LATENCY_BOUNDS_US.length + 1

/** The index, from 0, of the bucket that `latencyUs` falls into. */
export function latencyBucketOf(latencyUs: number): number {
  let low = 0
  let high = LATENCY_BOUNDS_US.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (latencyUs <= (LATENCY_BOUNDS_US[middle] ?? 0)) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * The latency that a share of the calls stayed within, from a histogram's counts: the bound of the bucket it
 * lies in, in microseconds. `null` when there were no calls.
 *
 * @param share Between 0 and 1: 0.99 for the 99th percentile.
 */
export function latencyAtUs(buckets: readonly bigint[], share: number): number | null {
  const calls = buckets.reduce((sum, count) => sum + count, 0n)
  if (calls === 0n) return null
  const rank = Math.max(1, Math.ceil(Number(calls) * share))
  let seen = 0
  for (const [index, count] of buckets.entries()) {
    seen += Number(count)
    if (seen >= rank) return LATENCY_BOUNDS_US[Math.min(index, LATENCY_BOUNDS_US.length - 1)] ?? null
  }
  return null
}
