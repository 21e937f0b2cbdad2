import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { AnswerController, AnswerHeaders } from '#http-client/answer-handler.ts'
import { cutAnswer } from '../../http/answer-error.ts'
import type { ErrorShape } from '../../http/error-shape.ts'
import { setWriteIdleTimeout } from '../../http/socket-timeouts.ts'
import { costHeaders, replaceLiteLlmHeaders } from '../../litellm/compat/answer-headers.ts'
import type { ResponseHead } from '../../providers/dialect.ts'
import type { AnswerRates } from '../admission/rate-headers.ts'
import { addAttemptHeaders } from '../recording/attempt-state.ts'
import type { CallContext } from '../recording/call-result.ts'
import type { HoldableDelivery } from '../recording/snapshot-saver.ts'
import { ChunkWriter } from './chunk-writer.ts'
import { CostComment } from './cost-comment.ts'
import { answerFailure } from './failures.ts'
import { forwardableResponseHeaders, forwardableTrailers } from './headers/answer-headers.ts'
import { costFields, type ShownCost, withoutCosts } from './headers/cost-headers.ts'
import type { MapAddress } from './own-addresses.ts'
import { UsageEventFilter, withoutNullUsage } from './usage-event-filter.ts'

/** An answer of announced length up to this is held and sent in one piece with its headers. */
const HELD_ANSWER_BYTES = 128 * 1024
/** Up to this, Node joins the head and the body of an answer faster as text than as two pieces of one write. */
const JOINED_ANSWER_BYTES = 16 * 1024

/** More pieces are small ones, and handing over each costs more than a copy. */
const MAX_PIECES = 16

/** A call, as far as its answer's way to the client depends on it. */
export interface DeliveredCall extends CallContext {
  readonly response: ServerResponse
  /** How an error of the gateway's own is written. */
  readonly errorShape: () => ErrorShape
  /** The gateway asked for the usage event, so it is taken out again. */
  readonly stripUsageEvent: boolean
  /** In place of the upstream's own headers of these names; `null`: the upstream's stay. */
  readonly rates: AnswerRates | null
  /** Only the gateway says which web pages may read the answer. */
  readonly ownsOrigins: boolean
  /** Absent: addresses of the upstream's own stay. */
  readonly mapAddress?: MapAddress
  /** What programs of LiteLLM read, in place of the upstream's like it; absent: those stay. */
  readonly liteLlm?: readonly string[] | undefined
  /** Whether the answer says what the call used and cost; absent: not. */
  readonly showsCost?: boolean | undefined
  /** Whether the client asked for that as a comment of a stream, too. */
  readonly commentsCost?: boolean
}

/**
 * Passes one answer on to its client: with back-pressure, byte for byte, and never whole before `finish`. The
 * last byte goes out only when the call's record is in the journal: a client that has a whole answer implies
 * a record that survives a kill.
 */
export class Delivery implements HoldableDelivery {
  readonly #context: DeliveredCall
  readonly #response: ServerResponse
  #controller: AnswerController | null = null
  #status = 502
  #statusMessage = ''
  #headers: string[] = []
  #trailers: readonly [name: string, value: string][] = []
  #filter: UsageEventFilter | null = null
  /** `null`: the client asked for none, or the answer is not a stream of events. */
  #comment: CostComment | null = null
  #announcedBytes: number | null = null
  #passedBytes = 0
  #headWritten = false
  /** Writes the pieces of a stream; `null`: Node does, `undefined`: nothing is known of it yet. */
  #chunks: ChunkWriter | null | undefined
  /** Pieces not to be written yet. */
  #held: Buffer[] = []
  /** The last piece of the body, which goes out with the end behind it; `null`: there is none yet, or it went. */
  #last: Buffer | null = null
  #holdsAll = false
  #isHolding = false
  #clientGone = false
  #finished = false

  constructor(context: DeliveredCall) {
    this.#context = context
    this.#response = context.response
  }

  holdsUpTo(bytes: number): boolean {
    return this.#holdsAll || (this.#announcedBytes !== null && bytes >= this.#announcedBytes)
  }

  get isHolding(): boolean {
    return this.#isHolding
  }

  get clientGone(): boolean {
    return this.#clientGone
  }

  /** The head of the answer has come: decides whether the whole is held or streamed. */
  begin(controller: AnswerController, status: number, statusMessage: string, headers: AnswerHeaders): void {
    this.#controller = controller
    this.#status = status
    this.#statusMessage = writableReason(status, statusMessage)
    this.#announcedBytes = announcedLength(headers['content-length'])
    const { call, request, stripUsageEvent, rates, mapAddress, ownsOrigins, attempt } = this.#context
    if (stripUsageEvent && status === 200 && isPlainEventStream(headers)) {
      this.#filter = new UsageEventFilter()
    }
    const { showsCost = false, commentsCost = false } = this.#context
    // Behind a part of a stream a comment would stand within the whole.
    if (showsCost && commentsCost && status === 200 && isPlainEventStream(headers))
      this.#comment = new CostComment()
    const dropsLength =
      this.#filter !== null || this.#comment !== null || (showsCost && this.#needsTrailers(status, headers))
    if (dropsLength) this.#announcedBytes = null
    this.#headers = forwardableResponseHeaders(controller.rawHeaders, {
      dropContentLength: dropsLength,
      rates,
      mapAddress,
      ownsOrigins,
    })
    this.#headers.push('x-tallygate-call-id', call.callId)
    if (attempt !== undefined) addAttemptHeaders(this.#headers, call, attempt)
    const { liteLlm } = this.#context
    if (liteLlm !== undefined) this.#headers = replaceLiteLlmHeaders(this.#headers, liteLlm)
    if (showsCost) this.#headers = withoutCosts(this.#headers)
    if (this.#clientGone) return
    const hasNoBody = request.method === 'HEAD' || status === 204 || status === 304
    if (hasNoBody || (this.#announcedBytes !== null && this.#announcedBytes <= HELD_ANSWER_BYTES)) {
      this.#holdsAll = true
      return
    }
    // The first event of a stream may be long in coming; its headers are not held back for it.
    setImmediate(() => this.#flushHead(controller))
  }

  /** The next bytes of the body. `hasNoUsage`: they are known to be whole events of a stream, and none reports usage. */
  pass(chunk: Buffer, hasNoUsage: boolean): void {
    this.#passedBytes += chunk.length
    if (this.#clientGone) return
    if (this.#filter === null) this.#write(chunk)
    else if (hasNoUsage && this.#filter.passes(chunk)) this.#write(withoutNullUsage(chunk))
    else this.#writeEvents(this.#filter.push(chunk))
  }

  /** An event that came in several pieces goes on in one. */
  #writeEvents(pieces: readonly Buffer[]): void {
    const [first] = pieces
    if (first === undefined) return
    this.#write(withoutNullUsage(pieces.length === 1 ? first : Buffer.concat(pieces)))
  }

  hold(): void {
    this.#isHolding = true
  }

  release(): void {
    this.#isHolding = false
    if (this.#clientGone) return
    const held = this.#held
    this.#held = []
    for (const piece of held) this.#write(piece)
  }

  /** The client's connection closed: nothing more is written. False: it had before, or the client has all. */
  abandon(): boolean {
    if (this.#clientGone || this.#finished) return false
    this.#clientGone = true
    this.#held = []
    this.#last = null
    return true
  }

  /** The upstream ended the answer as it should. */
  endBody(trailers: AnswerHeaders | null): void {
    if (trailers !== null) {
      const headers = this.#controller?.rawHeaders ?? []
      const { rates, ownsOrigins } = this.#context
      this.#trailers = forwardableTrailers(trailers, headers, { rates, ownsOrigins })
    }
    if (this.#filter === null || this.#clientGone) return
    const rest = this.#filter.end().map(withoutNullUsage)
    for (const piece of rest) this.#comment?.saw(piece)
    this.#held.push(...rest)
  }

  /** The record takes longer than this turn of the event loop: what need not wait for it goes out. */
  goOn(): void {
    const last = this.#last
    this.#last = null
    if (last !== null) this.#send(last)
  }

  /** The upstream broke off. What came of the answer is the client's. */
  breakOff(): void {
    this.#controller = null
    this.goOn()
    if (this.#filter === null || !this.#headWritten || this.#clientGone) return
    for (const piece of this.#filter.end()) this.#write(piece)
  }

  /**
   * The record is written, or could not be (`ledgerError`): the client gets the rest, a cut, or an error.
   *
   * @param call What it used and cost.
   */
  finish(upstreamError: Error | null, ledgerError: Error | null, call: ShownCost): void {
    this.#finished = true
    const response = this.#response
    if (this.#clientGone || response.destroyed) return
    if (ledgerError !== null) {
      // Without a record the client must not have a whole answer: it is cut, and the caller may try again.
      cutAnswer(response)
      return
    }
    if (upstreamError !== null) {
      if (this.#headWritten) this.#cut()
      else answerFailure(response, this.#context, upstreamError)
      return
    }
    if (this.#last !== null && !this.#headWritten) this.#writeHead()
    this.#keepLast()
    const comment = this.#comment?.of(call) ?? null
    if (comment !== null) this.#held.push(comment)
    const isWhole = !this.#headWritten
    if (isWhole) {
      if (this.#context.liteLlm !== undefined) this.#headers.push(...costHeaders(call.costPico))
      if (this.#context.showsCost === true) this.#headers.push(...costFields(call).flat())
      this.#writeHead()
    }
    const last = this.#writeAllButLast(isWhole)
    // A call that was long under way is old to the collector: it would keep its answer until a full collection.
    this.#held = []
    if (this.#context.showsCost === true && !isWhole) {
      const others = this.#trailers.filter((trailer) => withoutCosts(trailer).length > 0)
      this.#trailers = [
        ...others,
        ...costFields(call).map(([name, value]): [string, string] => [name, value]),
      ]
    }
    const hasTrailers = this.#trailers.length > 0 && this.#announcedBytes === null
    if (hasTrailers) response.addTrailers(this.#trailers)
    const chunks = isWhole || hasTrailers ? null : this.#chunkWriter()
    if (last === undefined || last.length === 0) response.end()
    else if (chunks !== null) chunks.end(last)
    else if (isWhole && last.length <= JOINED_ANSWER_BYTES) response.end(last.toString('latin1'), 'latin1')
    else response.end(last)
    if (response.writableLength > 0) setWriteIdleTimeout(response, 'finish')
  }

  /** Whether the head of a JSON answer goes out before its cost is known, and trailers can say it: not without chunks. */
  #needsTrailers(status: number, headers: AnswerHeaders): boolean {
    const isLong = this.#announcedBytes !== null && this.#announcedBytes > HELD_ANSWER_BYTES
    const isJson = String(headers['content-type'] ?? '').startsWith('application/json')
    const { req } = this.#response
    return isLong && isJson && status === 200 && req.method !== 'HEAD' && req.httpVersion !== '1.0'
  }

  /** Large pieces are not copied to make one of them: Node writes what it gets in one turn as one anyway. */
  #writeAllButLast(isWhole: boolean): Buffer | undefined {
    const held = this.#held
    if (held.length === 1) return held[0]
    const areLarge = held.length <= MAX_PIECES && this.#passedBytes > JOINED_ANSWER_BYTES
    if (!isWhole || !areLarge) return Buffer.concat(held)
    for (const piece of held.slice(0, -1)) this.#response.write(piece)
    return held.at(-1)
  }

  #write(piece: Buffer): void {
    this.#comment?.saw(piece)
    const isLast = this.#announcedBytes !== null && this.#passedBytes >= this.#announcedBytes
    if (this.#holdsAll || this.#isHolding || isLast) {
      this.#held.push(piece)
      return
    }
    if (this.#controller?.isWhole !== true) {
      this.#send(piece)
      return
    }
    this.#last = this.#last === null ? piece : Buffer.concat([this.#last, piece])
  }

  #send(piece: Buffer): void {
    const response = this.#response
    const controller = this.#controller
    if (!this.#headWritten) this.#writeHead()
    const chunks = this.#chunkWriter()
    const takesMore = chunks === null ? response.write(piece) : chunks.write(piece)
    if (takesMore || controller === null) return
    const emitter = chunks === null ? response : chunks.drains
    controller.pause()
    setWriteIdleTimeout(response, 'drain', emitter)
    emitter.once('drain', () => controller.resume())
  }

  /** It goes out before all that is held, and with the end. */
  #keepLast(): void {
    if (this.#last !== null) this.#held.unshift(this.#last)
    this.#last = null
  }

  /** It is called behind `#writeHead`. */
  #chunkWriter(): ChunkWriter | null {
    if (this.#chunks === undefined) this.#chunks = ChunkWriter.of(this.#response)
    return this.#chunks
  }

  #flushHead(controller: AnswerController): void {
    if (this.#headWritten || this.#clientGone || this.#finished || this.#last !== null) return
    try {
      this.#writeHead()
      // In the bytes that came: `flushHeaders` would write them in UTF-8.
      this.#response.write('', 'latin1')
    } catch (error) {
      // No caller would catch this here: bytes that one upstream wrote must not end the process.
      controller.abort(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #writeHead(): void {
    this.#headWritten = true
    this.#response.sendDate = false
    this.#response.writeHead(this.#status, this.#statusMessage, this.#headers)
  }

  /** The client gets what came, and sees that it is not the whole. */
  #cut(): void {
    const response = this.#response
    if (this.#held.length > 0) response.write(Buffer.concat(this.#held), () => response.destroy())
    else cutAnswer(response)
  }
}

/** The upstream's reason phrase, in latin1 characters, where node takes it. */
function writableReason(status: number, reason: string): string {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(reason) ? reason : (STATUS_CODES[status] ?? '')
}

/** The length that `content-length` announces; `null`: it is absent or unreadable. */
function announcedLength(header: string | string[] | undefined): number | null {
  return typeof header === 'string' && /^\d+$/.test(header) ? Number(header) : null
}

/** Whether an answer is an event stream that is not compressed. `headers` have lower-case names. */
function isPlainEventStream(headers: ResponseHead['headers']): boolean {
  const type = String(headers['content-type'] ?? '').toLowerCase()
  return type.startsWith('text/event-stream') && headers['content-encoding'] === undefined
}
