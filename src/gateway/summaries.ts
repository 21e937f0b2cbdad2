import { DeadlineError, withinDeadline } from '../lib/deadline.ts'
import type { ClientQuery } from '../usage/query/answer-usage.ts'

/** One client's queries that are worked out at once; all clients together share the connections of their lane. */
const AT_ONCE_EACH = 2
/** A store that answers nothing within this time is away. */
const PING_MS = 500

export interface SummariesOptions {
  /** Works an answer out. Rejects when the store is away, or says that it took too long. */
  readonly answer: (query: ClientQuery) => Promise<object>
  /** Resolves when the store answers anything at all. */
  readonly ping: () => Promise<unknown>
  readonly limitMs: number
}

/** The driver's pool says the same of a server that cannot be reached and of connections that are all in use. */
function isWithoutConnection(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect'
}

/** An answer took too long to work out, and the store is there. */
export class TookTooLong extends Error {
  override readonly name = 'TookTooLong'
}

/**
 * Answers clients about their usage within a time. Each client's queries go two at a time, so that one that asks for
 * much at once, or often, waits for itself and keeps no connection from the others.
 */
export class Summaries {
  readonly #options: SummariesOptions
  /** By client: how many are worked out, and those that wait for their turn. */
  readonly #lines = new Map<string, { running: number; readonly waiting: (() => void)[] }>()

  constructor(options: SummariesOptions) {
    this.#options = options
  }

  /** @throws {TookTooLong} And whatever `answer` throws, or a `DeadlineError`, when the store is away. */
  async answer(query: ClientQuery): Promise<object> {
    const { limitMs, ping } = this.#options
    try {
      return await withinDeadline(this.#inTurn(query, performance.now() + limitMs), limitMs)
    } catch (error) {
      if (!(error instanceof DeadlineError) && !isWithoutConnection(error)) throw error
      const isThere = await withinDeadline(ping(), PING_MS).then(
        () => true,
        () => false,
      )
      throw isThere ? new TookTooLong('the answer took too long', { cause: error }) : error
    }
  }

  async #inTurn(query: ClientQuery, untilMs: number): Promise<object> {
    const { id } = query.client
    const line = this.#lines.get(id) ?? { running: 0, waiting: [] }
    this.#lines.set(id, line)
    if (line.running < AT_ONCE_EACH) line.running += 1
    else await new Promise<void>((resolve) => line.waiting.push(resolve))
    try {
      // Its request was answered meanwhile.
      if (performance.now() >= untilMs) throw new TookTooLong('the queries before it took too long')
      return await this.#options.answer(query)
    } finally {
      const next = line.waiting.shift()
      if (next !== undefined) next()
      else {
        line.running -= 1
        if (line.running === 0) this.#lines.delete(id)
      }
    }
  }
}
