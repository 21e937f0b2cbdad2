import type { ServerResponse } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { type AnswerHeaders, UpstreamError, type UpstreamErrorCode } from '#http-client/answer-handler.ts'
import type { UpstreamFailure } from '../../call/call-ports.ts'
import { writeError } from '../../http/answer-error.ts'
import type { ErrorShape } from '../../http/error-shape.ts'
import { type ErrorName, GatewayError } from '../../http/errors.ts'
import type { Dialect } from '../../providers/dialect.ts'
import { refusesCredential } from '../../providers/refused-credential.ts'
import type { AnswerRates } from '../admission/rate-headers.ts'
import { FormInDoubt } from '../forms/form-upload.ts'
import { type AttemptState, attemptHeaders } from '../recording/attempt-state.ts'
import type { CallContext } from '../recording/call-result.ts'

const BY_UPSTREAM_ERROR: Readonly<Record<UpstreamErrorCode, UpstreamFailure | null>> = {
  connect_timeout: 'connect_timeout',
  headers_timeout: 'slow_answer',
  body_timeout: 'slow_answer',
  closed: 'broken_off',
  malformed_answer: 'malformed_answer',
  invalid_request: null,
  pool_closed: null,
}

/** Codes of Node's socket errors. What is none of these is taken for a connection that broke. */
const BY_SOCKET_CODE: Readonly<Record<string, UpstreamFailure>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ECONNREFUSED: 'connect_refused',
  ETIMEDOUT: 'connect_timeout',
  EHOSTUNREACH: 'connect_timeout',
  ENETUNREACH: 'connect_timeout',
}
const OF_TLS = /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/

/** Why a call failed at its upstream; `null`: it did not, or the cause lies with the client. */
export function failureCauseOf(status: number | null, error: Error | null): UpstreamFailure | null {
  if (error === null) return causeOfStatus(status)
  if (error instanceof GatewayError) {
    return error.error === 'upstream_credential_refused' ? 'credential_refused' : null
  }
  if (error instanceof UpstreamError) return BY_UPSTREAM_ERROR[error.code]
  const code = 'code' in error ? String(error.code) : ''
  return BY_SOCKET_CODE[code] ?? (OF_TLS.test(code) ? 'tls' : 'broken_off')
}

/** Whether a server of tools had nothing to say for a while: on a stream by GET that is not a failure. */
export function isSilence(dialect: Dialect | null, error: Error | null): boolean {
  const isListening = dialect?.callsTools !== undefined && dialect.isFree === true
  return isListening && error instanceof UpstreamError && error.code === 'body_timeout'
}

function causeOfStatus(status: number | null): UpstreamFailure | null {
  if (status === null || status < 429) return null
  return status === 429 ? 'rate_limited' : status >= 500 ? 'server_error' : null
}

const TIMEOUT_CODES = new Set<UpstreamErrorCode>(['headers_timeout', 'body_timeout'])

/** What the answer to a failed call depends on. */
interface FailedCall {
  readonly call: CallContext['call']
  readonly errorShape: () => ErrorShape
  readonly rates: AnswerRates | null
  readonly attempt?: AttemptState | undefined
}

/** Tells the client of a call why its upstream answered nothing, in the error shape of its client library. */
export function answerFailure(
  response: ServerResponse,
  { call, errorShape, rates, attempt }: FailedCall,
  error: Error,
): void {
  const detail =
    error instanceof GatewayError ? { body: error.detail.body, message: error.detail.message } : {}
  const headers =
    attempt === undefined ? (rates ?? undefined) : { ...rates, ...attemptHeaders(call, attempt) }
  writeError(response, errorShape(), errorCodeOf(error), { ...detail, callId: call.callId, headers })
}

function errorCodeOf(error: Error): ErrorName {
  if (error instanceof FormInDoubt) return 'invalid_request'
  if (error instanceof GatewayError) return error.error
  const isLate = error instanceof UpstreamError && TIMEOUT_CODES.has(error.code)
  return isLate ? 'upstream_timeout' : 'upstream_unreachable'
}

/** Longest body of an error that is held until it is known whether it is about our credential. */
const MAX_HELD_BYTES = 16 * 1024
const MAX_DECODED_BYTES = 128 * 1024
/** Of a refusal that the client does not get, so much is read for the sake of the connection. */
const MAX_READ_BYTES = 256 * 1024

const DECODERS: Readonly<Record<string, (body: Buffer, options: { maxOutputLength: number }) => Buffer>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}

/**
 * The body of an answer whose status may be about the credential that the gateway sent. It is held until that is
 * known: words about the gateway's key would be taken for words about the client's, and show parts of it.
 */
export class DoubtedAnswer {
  readonly #status: number
  readonly #headers: AnswerHeaders
  readonly #begin: () => void
  #held: Buffer[] | null = []
  #bytes = 0

  /** @param begin Passes the answer's head on, where the answer is the client's after all. */
  constructor(status: number, headers: AnswerHeaders, begin: () => void) {
    this.#status = status
    this.#headers = headers
    this.#begin = begin
  }

  /** More than this no error needs: the answer may be given up. */
  get isEndless(): boolean {
    return this.#status === 401 && this.#bytes > MAX_READ_BYTES
  }

  /** The next bytes of the body; what may go to the client now. */
  push(chunk: Buffer): readonly Buffer[] {
    this.#bytes += chunk.length
    if (this.#held === null) return [chunk]
    if (this.#status === 401) return []
    this.#held.push(chunk)
    return this.#bytes > MAX_HELD_BYTES ? this.release() : []
  }

  /** Whether the upstream refused our credential, as far as the bytes that came tell. */
  isRefusal(): boolean {
    if (this.#held === null) return false
    return this.#status === 401 || refusesCredential(this.#status, this.#headers, this.#text(this.#held))
  }

  /** The answer is the client's: what was held of it. */
  release(): readonly Buffer[] {
    const held = this.#held ?? []
    if (this.#held !== null) this.#begin()
    this.#held = null
    return held
  }

  #text(held: readonly Buffer[]): string {
    const body = Buffer.concat(held)
    const decode = DECODERS[String(this.#headers['content-encoding'] ?? '').toLowerCase()]
    try {
      return (decode?.(body, { maxOutputLength: MAX_DECODED_BYTES }) ?? body).toString('utf8')
    } catch {
      return ''
    }
  }
}
