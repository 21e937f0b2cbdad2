import { LATENCY_BOUNDS_US, LATENCY_BUCKETS, latencyBucketOf } from '../domain/latency.ts'

/** A call of a bucket whose trace was sent. */
export interface Exemplar {
  readonly traceId: string
  readonly us: number
  /** When it ended, milliseconds since 1970. */
  readonly atMs: number
}

/** A histogram of durations; adding to it costs a search in a small array. */
export class LatencyCounts {
  /** By the buckets of `src/domain/latency.ts`. */
  readonly buckets = new Float64Array(LATENCY_BUCKETS)
  /** The last traced call of each bucket; empty where none is traced. */
  readonly exemplars: (Exemplar | undefined)[] = []
  sumUs = 0

  add(latencyUs: number): void {
    const bucket = latencyBucketOf(latencyUs)
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1
    this.sumUs += latencyUs
  }

  /** A duration that was added belongs to a trace. */
  point(exemplar: Exemplar): void {
    this.exemplars[latencyBucketOf(exemplar.us)] = exemplar
  }
}

/** The highest bound is a second: what takes longer in the gateway waits for something. */
const OWN_TIME_STEPS = 15
const FIRST_OWN_BOUND_US = 64
const OWN_BOUNDS_US = Array.from({ length: OWN_TIME_STEPS }, (_, step) => FIRST_OWN_BOUND_US * 2 ** step)
const LONGEST_US = FIRST_OWN_BOUND_US * 2 ** OWN_TIME_STEPS

/** The time of calls in the gateway itself: from 64 µs on in powers of two, since most take below a millisecond. */
export class OwnTimeCounts {
  readonly buckets = new Float64Array(OWN_TIME_STEPS + 1)
  sumUs = 0

  add(us: number): void {
    const parts = Math.ceil(Math.min(us, LONGEST_US) / FIRST_OWN_BOUND_US)
    const bucket = parts <= 1 ? 0 : 32 - Math.clz32(parts - 1)
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1
    this.sumUs += us
  }
}

/** A bucket as Prometheus wants it: how many were not longer than `seconds`. */
export interface CumulativeBucket {
  readonly seconds: number
  readonly count: number
  /** The last traced call that is in none of the buckets before. */
  readonly exemplar: Exemplar | undefined
}

/** A histogram as Prometheus wants it. */
export interface Cumulated {
  readonly shown: readonly CumulativeBucket[]
  /** The last traced call above the highest bound. */
  readonly longest: Exemplar | undefined
  /** All of them, those above the highest bound too. */
  readonly count: number
  readonly sumSeconds: number
}

/** Every other bound, so the powers of two from 1 ms: enough for a graph, and half the series. */
const SHOWN_STEP = 2

export function cumulateLatency(latency: LatencyCounts): Cumulated {
  return cumulate(latency, LATENCY_BOUNDS_US, SHOWN_STEP)
}

export function cumulateOwnTime(times: OwnTimeCounts): Cumulated {
  return cumulate(times, OWN_BOUNDS_US, 1)
}

interface CountedDurations {
  readonly buckets: Float64Array
  readonly sumUs: number
  readonly exemplars?: readonly (Exemplar | undefined)[]
}

function cumulate(
  { buckets, sumUs, exemplars = [] }: CountedDurations,
  boundsUs: readonly number[],
  step: number,
): Cumulated {
  const shown: CumulativeBucket[] = []
  let count = 0
  let last: Exemplar | undefined
  for (const [index, inBucket] of buckets.entries()) {
    count += inBucket
    const exemplar = exemplars[index]
    if (exemplar !== undefined && exemplar.atMs >= (last?.atMs ?? 0)) last = exemplar
    const bound = boundsUs[index]
    if (index % step !== 0 || bound === undefined) continue
    shown.push({ seconds: bound / 1_000_000, count, exemplar: last })
    last = undefined
  }
  return { shown, longest: last, count, sumSeconds: sumUs / 1_000_000 }
}
