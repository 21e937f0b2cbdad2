import { LATENCY_BOUNDS_US, LATENCY_BUCKETS, latencyBucketOf } from '../domain/latency.ts'

/** A histogram of durations; adding to it costs a search in a small array. */
export class LatencyCounts {
  /** By the buckets of `src/domain/latency.ts`. */
  readonly buckets = new Float64Array(LATENCY_BUCKETS)
  sumUs = 0

  add(latencyUs: number): void {
    const bucket = latencyBucketOf(latencyUs)
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1
    this.sumUs += latencyUs
  }
}

/** A bucket as Prometheus wants it: how many were not longer than `seconds`. */
export interface CumulativeBucket {
  readonly seconds: number
  readonly count: number
}

/** Every other bound, so the powers of two from 1 ms: enough for a graph, and half the series. */
const SHOWN_BOUNDS_US = LATENCY_BOUNDS_US.filter((_bound, index) => index % 2 === 0)

/** The bounds of `cumulate`, in seconds. */
export const SHOWN_BOUNDS_SECONDS: readonly number[] = SHOWN_BOUNDS_US.map((bound) => bound / 1_000_000)

/** The buckets that are shown, and the number of all. */
export function cumulate({ buckets }: LatencyCounts): {
  readonly shown: readonly CumulativeBucket[]
  readonly count: number
} {
  const shown: CumulativeBucket[] = []
  let count = 0
  for (const [index, inBucket] of buckets.entries()) {
    count += inBucket
    const bound = LATENCY_BOUNDS_US[index]
    if (index % 2 === 0 && bound !== undefined) shown.push({ seconds: bound / 1_000_000, count })
  }
  return { shown, count }
}
