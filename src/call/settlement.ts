import { createHash } from 'node:crypto'
import type { CallRecord } from './call-record.ts'

/** A record as it counts: a call, or what a call reported of another's work. */
export interface CountedCall extends CallRecord {
  /** The client and key that sent its request, where another client or key is billed. */
  readonly fetchedBy?: { readonly clientId: string; readonly keyId: string }
  /** Absent: it is a call, a request. */
  readonly settlement?: Settlement
}

/** Not a request: another call reported what the work of an earlier one used. */
export interface Settlement {
  /** The call whose answer reported it. */
  readonly reportedBy: string
  /** The call that submitted the work; `null`: none of ours, so the fetching client pays, on the day of the fetch. */
  readonly settles: string | null
}

/** The id of a settlement, the same whenever the same record is counted: a UUID of version 8. */
export function settlementIdOf(reportedBy: string, jobId: string, index: number): string {
  const hex = createHash('sha256').update(`${reportedBy}\0${jobId}\0${index}`).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}
