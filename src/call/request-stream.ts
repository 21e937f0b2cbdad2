import type { IncomingMessage } from 'node:http'
import { limitSilenceOfSender } from './client-silence.ts'

/** Why a body was not read. `too_large`: over the limit; `busy`: too many bodies in memory, of all clients or of this one; `gone`: client left. */
export type BodyProblem = 'too_large' | 'busy' | 'gone'

/**
 * Bytes of request bodies held for all calls together, so that many large ones cannot exhaust the memory, nor those of
 * one client the room of all others.
 */
export class BodyBudget {
  readonly #limitBytes: number
  readonly #clientLimitBytes: number
  readonly #heldBy = new Map<string, number>()
  #heldBytes = 0

  /** @param maxBodyBytes of one body, which finds room whenever nothing else is held. */
  constructor(limitBytes: number, maxBodyBytes: number) {
    this.#limitBytes = Math.max(limitBytes, maxBodyBytes)
    this.#clientLimitBytes = Math.max(limitBytes / 2, maxBodyBytes)
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  take(clientId: string, bytes: number): boolean {
    const held = (this.#heldBy.get(clientId) ?? 0) + bytes
    if (this.#heldBytes + bytes > this.#limitBytes || held > this.#clientLimitBytes) return false
    this.#heldBytes += bytes
    this.#heldBy.set(clientId, held)
    return true
  }

  give(clientId: string, bytes: number): void {
    this.#heldBytes -= bytes
    const held = (this.#heldBy.get(clientId) ?? 0) - bytes
    if (held > 0) this.#heldBy.set(clientId, held)
    else this.#heldBy.delete(clientId)
  }
}

/**
 * Reads a whole request body of at most `limitBytes`, counted against the client's part of `budget`; the caller gives the bytes back
 * when it lets the body go. Calls back exactly once. A client that is silent in the middle of it loses its connection.
 */
export function readBody(
  request: IncomingMessage,
  limitBytes: number,
  budget: BodyBudget,
  clientId: string,
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
    budget.give(clientId, bytes)
    done(problem)
  }
  const onData = (chunk: Buffer) => {
    if (bytes + chunk.length > limitBytes) {
      refuse('too_large')
      return
    }
    if (!budget.take(clientId, chunk.length)) {
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
