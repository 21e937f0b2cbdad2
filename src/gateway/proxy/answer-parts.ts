import { STATUS_CODES } from 'node:http'
import type { ResponseHead } from '../../providers/dialect.ts'

/** The upstream's reason phrase, in latin1 characters, where node takes it. */
export function writableReason(status: number, reason: string): string {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(reason) ? reason : (STATUS_CODES[status] ?? '')
}

/** The length that `content-length` announces; `null`: it is absent or unreadable. */
export function announcedLength(header: string | string[] | undefined): number | null {
  return typeof header === 'string' && /^\d+$/.test(header) ? Number(header) : null
}

/** Whether an answer is an event stream that is not compressed. `headers` have lower-case names. */
export function isPlainEventStream(headers: ResponseHead['headers']): boolean {
  const type = String(headers['content-type'] ?? '').toLowerCase()
  return type.startsWith('text/event-stream') && headers['content-encoding'] === undefined
}
