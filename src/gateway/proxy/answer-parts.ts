import { STATUS_CODES } from 'node:http'
import type { Dispatcher } from 'undici'
import { type ErrorName, GatewayError } from '../../http/errors.ts'
import { FormInDoubt } from '../forms/form-upload.ts'

/** The headers as they stood on the wire: name, value, name, value, ... */
export function rawHeadersOf(controller: Dispatcher.DispatchController): readonly (string | Buffer)[] {
  return Array.isArray(controller.rawHeaders) ? controller.rawHeaders : []
}

/** The upstream's reason phrase where node takes it; it has been read as UTF-8, so other bytes are lost by now. */
export function writableReason(status: number, reason: string): string {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(reason) ? reason : (STATUS_CODES[status] ?? '')
}

/** `content-length`; `null`: none that says anything. */
export function announcedLength(header: string | string[] | undefined): number | null {
  return typeof header === 'string' && /^\d+$/.test(header) ? Number(header) : null
}

/** `[name, value, ...]` as `[[name, value], ...]`. */
export function pairsOf(flat: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([flat[i] ?? '', flat[i + 1] ?? ''])
  return pairs
}

const TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** What a client is told of an upstream that did not answer. */
export function errorCodeOf(error: Error): ErrorName {
  if (error instanceof FormInDoubt) return 'invalid_request'
  if (error instanceof GatewayError) return error.error
  return 'code' in error && TIMEOUT_CODES.has(String(error.code))
    ? 'upstream_timeout'
    : 'upstream_unreachable'
}
