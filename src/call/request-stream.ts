import type { IncomingMessage } from 'node:http'
import { limitSilenceOfSender } from './client-silence.ts'

/** Why a body was not read. `too_large`: over the limit; `busy`: too many bodies in memory; `gone`: client left. */
export type BodyProblem = 'too_large' | 'busy' | 'gone'

/** Bytes of request bodies held for all calls together, so that many large ones cannot exhaust the memory. */
export class BodyBudget {
  readonly #limitBytes: number
  #heldBytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  take(bytes: number): boolean {
    // A single body is always let in when nothing else is held, or a limit below BODY_LIMIT_BYTES would refuse it for ever.
    if (this.#heldBytes > 0 && this.#heldBytes + bytes > this.#limitBytes) return false
    this.#heldBytes += bytes
    return true
  }

  give(bytes: number): void {
    this.#heldBytes -= bytes
  }
}

/**
 * Reads a whole request body of at most `limitBytes`, counted against `budget`; the caller gives the bytes back
 * when it lets the body go. Calls back exactly once. A client that is silent in the middle of it loses its connection.
 */
export function readBody(
  request: IncomingMessage,
  limitBytes: number,
  budget: BodyBudget,
  done: (body: Buffer | BodyProblem) => void,
): void {
  const announced = request.headers['content-length']
  if (announced !== undefined && Number(announced) > limitBytes) {
    done('too_large')
    return
  }
  const chunks: Buffer[] = []
  let bytes = 0
  const endLimit = limitSilenceOfSender(request)
  const stop = () => {
    endLimit()
    request.off('data', onData)
    request.off('end', onEnd)
    request.off('close', onClose)
  }
  const refuse = (problem: BodyProblem) => {
    stop()
    budget.give(bytes)
    done(problem)
  }
  const onData = (chunk: Buffer) => {
    if (bytes + chunk.length > limitBytes) {
      refuse('too_large')
      return
    }
    if (!budget.take(chunk.length)) {
      refuse('busy')
      return
    }
    bytes += chunk.length
    chunks.push(chunk)
  }
  const onEnd = () => {
    stop()
    const [first] = chunks
    done(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, bytes))
  }
  const onClose = () => refuse('gone')
  request.on('data', onData)
  request.on('end', onEnd)
  request.on('close', onClose)
}
