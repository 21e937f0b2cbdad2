import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import type { AnswerHeaders } from '../../../http/client/answer-handler.ts'
import { refusesCredential } from '../../../providers/refused-credential.ts'

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
