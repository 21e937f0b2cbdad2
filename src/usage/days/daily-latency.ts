import type { CountedCall } from '../../call/call-record.ts'
import { LATENCY_BOUNDS_US, LATENCY_BUCKETS, latencyBucketOf } from '../../domain/latency.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { inPart } from '../calls/call-partitions.ts'
import { latencyOf } from '../metrics-table.ts'

/**
 * Calls by latency: `LATENCY_BUCKETS` counts. In `daily_latency` they are one number, as the function
 * `latency_counts` of the schema takes apart.
 */
export type BucketCounts = number[]

/** Decimal digits of each count in that number. */
const DIGITS = 12

export function noLatencies(): BucketCounts {
  return new Array<number>(LATENCY_BUCKETS).fill(0)
}

/** Counts a call that has a latency, and the time to its first byte. */
export function addLatency(latencies: BucketCounts, firstBytes: BucketCounts, call: CountedCall): void {
  const latencyUs = latencyOf(call)
  if (latencyUs === null) return
  addTo(latencies, latencyUs)
  if (call.ttftUs !== null) addTo(firstBytes, call.ttftUs)
}

function addTo(counts: BucketCounts, us: number): void {
  const bucket = latencyBucketOf(us)
  counts[bucket] = (counts[bucket] ?? 0) + 1
}

/** The number that `daily_latency` keeps, in decimal digits; '': no call is in it. */
export function latencyText(counts: readonly number[]): string {
  let text = ''
  for (let bucket = counts.length - 1; bucket >= 0; bucket -= 1) {
    const count = counts[bucket] ?? 0
    if (text !== '') text += `${count}`.padStart(DIGITS, '0')
    else if (count > 0) text = `${count}`
  }
  return text
}

/** A bucket of `calls`, in SQL. A bound is in its bucket, so a time is looked for as one microsecond less. */
function bucketIn(ms: string): string {
  return `width_bucket((${ms} * 1000)::bigint - 1, '{${LATENCY_BOUNDS_US.join(',')}}'::bigint[])`
}

/** What so many calls of a bucket add to a histogram, in SQL. */
function countsIn(bucket: string): string {
  return `sum(calls * ('1' || repeat('0', ${DIGITS} * ${bucket}))::numeric)`
}

/** The rows of `daily_latency` that the calls of a part of a day make; parameters as of `inPart`. */
export const RECOUNT_LATENCY = `
select $1::date as day, client_id, model, ${countsIn('bucket')} as buckets,
  coalesce(${countsIn('first')}, 0) as first_bytes from (
  select client_id, model, bucket, first, count(*) as calls from (
    select client_id, model, ${bucketIn('latency_ms')} as bucket, ${bucketIn('ttft_ms')} as first
    from ${SCHEMA}.calls c where ${inPart('c')} and not web_socket and latency_ms is not null) c
  group by client_id, model, bucket, first) c
group by client_id, model`
