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

/** Counts a call that has a latency. */
export function addLatency(counts: BucketCounts, call: CountedCall): void {
  const latencyUs = latencyOf(call)
  if (latencyUs === null) return
  const bucket = latencyBucketOf(latencyUs)
  counts[bucket] = (counts[bucket] ?? 0) + 1
}

/** The number that `daily_latency` keeps, in decimal digits; '': no call had a latency. */
export function latencyText(counts: readonly number[]): string {
  let text = ''
  for (let bucket = counts.length - 1; bucket >= 0; bucket -= 1) {
    const count = counts[bucket] ?? 0
    if (text !== '') text += `${count}`.padStart(DIGITS, '0')
    else if (count > 0) text = `${count}`
  }
  return text
}

/** What a call of the bucket adds to the number, in SQL. */
const ONE_CALL = `('1' || repeat('0', ${DIGITS} * bucket))::numeric`

/**
 * The rows of `daily_latency` that the calls of a part of a day make; parameters as of `inPart`. A bound of a bucket is in it, as in
 * src/domain/latency.ts, so a latency is looked for as one microsecond less.
 */
export const RECOUNT_LATENCY = `
select $1::date as day, client_id, model, sum(calls * ${ONE_CALL}) as buckets from (
  select client_id, model, bucket, count(*) as calls from (
    select client_id, model,
      width_bucket((latency_ms * 1000)::bigint - 1, '{${LATENCY_BOUNDS_US.join(',')}}'::bigint[]) as bucket
    from ${SCHEMA}.calls c where ${inPart('c')} and not web_socket and latency_ms is not null) c
  group by client_id, model, bucket) c
group by client_id, model`
