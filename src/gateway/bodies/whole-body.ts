import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DecodeProblem, decodeBody } from '../../http/codings/decode-body.ts'
import { type BodySink, DirectRequest } from '../../http/direct-request.ts'
import { joinInSlices, WHOLE_BYTES } from '../../lib/sliced-work.ts'
import type { BodyBudget, BodyRoom, UploadProblem } from './body-budget.ts'

/** A request's body that was read whole. */
export interface WholeBody {
  /** As the client sent it. */
  readonly sent: Buffer
  /** As its reader gets it: content codings undone, in UTF-8. */
  readonly plain: Buffer
  /** Holds the room of both; the caller releases it when it drops them. */
  readonly room: BodyRoom | null
}

/** Why a body was not read. `too_large`: it is over the limit. `gone`: the client left. */
type BodyProblem = UploadProblem | 'too_large' | 'gone'

type Done = (body: Buffer | BodyProblem, room: BodyRoom | null) => void

/**
 * Reads a whole request body of at most `limitBytes` into the client's part of `budget`. The caller releases
 * the room when it drops the body. Calls back exactly once; with a problem, the room was given back before. A
 * client below the minimum rate is `slow`.
 */
export function readBody(
  request: IncomingMessage,
  limitBytes: number,
  budget: BodyBudget,
  clientId: string,
  done: Done,
): void {
  const announced = request.headers['content-length']
  if (announced !== undefined && Number(announced) > limitBytes) {
    done('too_large', null)
    return
  }
  new Upload(request, limitBytes, budget, clientId, done)
}

/** A body on its way in. */
class Upload implements BodySink {
  readonly #limitBytes: number
  readonly #clientId: string
  readonly #done: Done
  readonly #room: BodyRoom
  /** From then on nothing more comes here; what still comes of the body is dropped. */
  readonly #stop: () => void
  /** Nearly every body comes in one piece. */
  #first: Buffer | null = null
  #others: Buffer[] | null = null
  #bytes = 0

  constructor(
    request: IncomingMessage,
    limitBytes: number,
    budget: BodyBudget,
    clientId: string,
    done: Done,
  ) {
    this.#limitBytes = limitBytes
    this.#clientId = clientId
    this.#done = done
    this.#room = budget.open(clientId, (problem) => this.#refuse(problem))
    this.#stop =
      request instanceof DirectRequest && request.readInto(this)
        ? () => request.dropRest()
        : readStream(request, this)
  }

  take(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#limitBytes) this.#refuse('too_large')
    else if (!this.#room.grow(chunk.length)) this.#refuse('busy')
    else if (this.#first === null) this.#first = chunk
    else if (this.#others === null) this.#others = [chunk]
    else this.#others.push(chunk)
  }

  end(): void {
    const room = this.#room
    room.arrived()
    const first = this.#first
    const others = this.#others
    const done = this.#done
    // The room is held for as long as the call has the body, and what it ends is this.
    this.#first = null
    this.#others = null
    if (first !== null && others === null) {
      done(first, room)
      return
    }
    const chunks = first === null ? [] : [first, ...(others ?? [])]
    if (this.#bytes <= WHOLE_BYTES) done(Buffer.concat(chunks, this.#bytes), room)
    else joinInSlices(this.#clientId, chunks, (body) => done(body, room))
  }

  close(): void {
    this.#refuse('gone')
  }

  #refuse(problem: BodyProblem): void {
    this.#stop()
    this.#first = null
    this.#others = null
    this.#room.release()
    this.#done(problem, null)
  }
}

/** As `DirectRequest.readInto`, for any request. The result stops it. */
function readStream(request: IncomingMessage, sink: BodySink): () => void {
  const onData = (chunk: Buffer) => sink.take(chunk)
  const onEnd = () => {
    stop()
    sink.end()
  }
  const onClose = () => sink.close()
  const stop = () => {
    request.off('data', onData)
    request.off('end', onEnd)
    request.off('close', onClose)
  }
  request.on('data', onData)
  request.on('end', onEnd)
  request.on('close', onClose)
  return stop
}

export type WholeBodyProblem = BodyProblem | DecodeProblem

export interface WholeBodyOptions {
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
}

/**
 * Reads a request's body and undoes its content codings for its reader. `undecodable`: it is not what its
 * headers say, or it is compressed and they do not say so. Calls back exactly once.
 *
 * @param codings known ones, in the order in which they were applied.
 * @param response closed when the client leaves.
 */
export function readWholeBody(
  request: IncomingMessage,
  response: ServerResponse,
  codings: readonly string[],
  { bodyLimitBytes, bodyBudget }: WholeBodyOptions,
  clientId: string,
  done: (body: WholeBody | WholeBodyProblem) => void,
): void {
  readBody(request, bodyLimitBytes, bodyBudget, clientId, (sent, room) => {
    if (typeof sent === 'string') {
      done(sent)
      return
    }
    if (codings.length === 0) {
      finish(sent, sent, room, response, done)
      return
    }
    const mayGrow = (bytes: number) => room?.grow(bytes) !== false
    decodeBody(sent, codings, clientId, bodyLimitBytes, mayGrow, (decoded) =>
      finish(sent, decoded, room, response, done),
    )
  })
}

/** Larger bodies in UTF-16 do not occur, and converting them would take long. */
const MAX_UTF16_BYTES = 1024 * 1024

/**
 * A JSON body that is written in UTF-16, as UTF-8; any other body as it is. RFC 8259 allows only UTF-8. But
 * servers that use Python's `json` detect the encoding by the first bytes (`json.detect_encoding`), and so
 * does this.
 */
export function asUtf8(body: Buffer): Buffer {
  const order = utf16Order(body)
  if (order === null || body.length % 2 !== 0 || body.length > MAX_UTF16_BYTES) return body
  const littleEndian = order === 'le' ? body : Buffer.from(body).swap16()
  return Buffer.from(littleEndian.toString('utf16le'), 'utf8')
}

function utf16Order(body: Buffer): 'le' | 'be' | null {
  // By index, because this runs for every body, and destructuring makes an iterator.
  const first = body[0]
  const second = body[1]
  const third = body[2]
  const fourth = body[3]
  if (first === undefined || second === undefined) return null
  if (first === 0xff && second === 0xfe) return third === 0 && fourth === 0 ? null : 'le'
  if (first === 0xfe && second === 0xff) return 'be'
  if (first === 0 && second !== 0) return 'be'
  if (first !== 0 && second === 0) return third === 0 && fourth === 0 ? null : 'le'
  return null
}

/**
 * Whether a body begins like gzip, zlib or zstd, as no JSON does. A server that goes by the bytes would read
 * what the gateway has not read.
 */
export function seemsCompressed(body: Buffer): boolean {
  const second = body[1] ?? 0
  switch (body[0]) {
    case 0x1f:
      return second === 0x8b
    case 0x28:
      return second === 0xb5 && body[2] === 0x2f && body[3] === 0xfd
    case 0x78:
      return (0x7800 + second) % 31 === 0
    default:
      return false
  }
}

function finish(
  sent: Buffer,
  decoded: Buffer | DecodeProblem,
  room: BodyRoom | null,
  response: ServerResponse,
  done: (body: WholeBody | WholeBodyProblem) => void,
): void {
  const plain = typeof decoded === 'string' ? decoded : asUtf8(decoded)
  if (typeof plain !== 'string' && !response.destroyed && !seemsCompressed(plain)) {
    done({ sent, plain, room })
    return
  }
  room?.release()
  if (response.destroyed) done('gone')
  else done(typeof plain === 'string' ? plain : 'undecodable')
}
