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
