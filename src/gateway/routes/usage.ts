import type { FastifyInstance, FastifyReply } from 'fastify'
import { sendError } from '../../http/answer-error.ts'
import { DeadlineError, withinDeadline } from '../../lib/deadline.ts'
import { isQueryTimeout } from '../../store/connection/postgres.ts'
import type { ClientQuery } from '../../usage/query/answer-usage.ts'
import { asOf } from '../../usage/query/answer-usage.ts'
import { parseUsageQuery } from '../../usage/query/usage-query.ts'
import { admissionOf } from '../admission/http-hooks.ts'

/** An answer, and until when it is whole, in milliseconds since 1970; `null`: it lacks no call. */
interface Whole<Answer> {
  readonly answer: Answer
  readonly wholeUntilMs: number | null
}

export interface UsageOptions {
  readonly basePath: string
  /** Rejects when the store is away. */
  readonly summarise: (query: ClientQuery) => Promise<Whole<object>>
  /** What a summary adds on demand, read behind it. Rejects alike. */
  readonly listLimits: (clientId: string, keyId: string) => Promise<readonly object[]>
  /** What a call of this client cost, as far as it is kept; `null`: it has none of this id. Rejects alike. */
  readonly findReceipt: (clientId: string, id: string) => Promise<Whole<object | null>>
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
  readonly storageFailed: (error: unknown) => void
}

/** One client's queries that are worked out at once; all clients together share the connections of their lane. */
const AT_ONCE_EACH = 2
/** A store that answers nothing within this time is away. */
const PING_MS = 500

interface SummariesOptions {
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

  /**
   * @param work Works an answer out. Rejects when the store is away, or says that it took too long.
   * @throws {TookTooLong} And whatever `work` throws, or a `DeadlineError`, when the store is away.
   */
  async answer<Answer>(clientId: string, work: () => Promise<Answer>): Promise<Answer> {
    const { limitMs, ping } = this.#options
    try {
      return await withinDeadline(this.#inTurn(clientId, work, performance.now() + limitMs), limitMs)
    } catch (error) {
      if (!(error instanceof DeadlineError) && !isWithoutConnection(error)) throw error
      const isThere = await withinDeadline(ping(), PING_MS).then(
        () => true,
        () => false,
      )
      throw isThere ? new TookTooLong('the answer took too long', { cause: error }) : error
    }
  }

  async #inTurn<Answer>(clientId: string, work: () => Promise<Answer>, untilMs: number): Promise<Answer> {
    const line = this.#lines.get(clientId) ?? { running: 0, waiting: [] }
    this.#lines.set(clientId, line)
    if (line.running < AT_ONCE_EACH) line.running += 1
    else await new Promise<void>((resolve) => line.waiting.push(resolve))
    try {
      // Its request was answered meanwhile.
      if (performance.now() >= untilMs) throw new TookTooLong('the queries before it took too long')
      return await work()
    } finally {
      const next = line.waiting.shift()
      if (next !== undefined) next()
      else {
        line.running -= 1
        if (line.running === 0) this.#lines.delete(clientId)
      }
    }
  }
}

/** `GET /v1/usage`: what the caller's client used, whichever of its keys asks. And what one of its calls cost. */
export function usage(app: FastifyInstance, options: UsageOptions): void {
  app.get(`${options.basePath}/v1/usage`, async (request, reply) => {
    const { caller, urlWithoutKey } = admissionOf(request)
    const parsed = parseUsageQuery(queryOf(urlWithoutKey), options.now())
    if (parsed.kind === 'problem') {
      sendError(reply, 'invalid_request', { param: parsed.param, message: parsed.message })
      return reply
    }
    return await answerFromStore(reply, options, async () => {
      const client = { id: caller.clientId, name: caller.clientName }
      const { answer: summary, wholeUntilMs } = await options.summarise({ ...parsed.query, client })
      if (wholeUntilMs !== null) reply.headers(asOf(wholeUntilMs))
      if (parsed.includesLimits !== true) return summary
      const limits = await options.listLimits(caller.clientId, caller.keyId)
      return { ...summary, limits }
    })
  })

  app.get<{ Params: { id: string } }>(`${options.basePath}/v1/usage/calls/:id`, async (request, reply) => {
    const { caller, urlWithoutKey } = admissionOf(request)
    const [param] = new URLSearchParams(queryOf(urlWithoutKey)).keys()
    if (param !== undefined) {
      sendError(reply, 'invalid_request', { param, message: `There is no parameter ${param}.` })
      return reply
    }
    return await answerFromStore(reply, options, async () => {
      const { answer: receipt, wholeUntilMs } = await options.findReceipt(caller.clientId, request.params.id)
      if (wholeUntilMs !== null) reply.headers(asOf(wholeUntilMs))
      if (receipt === null) sendError(reply, 'not_found', { message: NO_CALL })
      return receipt ?? reply
    })
  })
}

const NO_CALL = 'This client has no call of that id, or it is not kept any more.'

export function queryOf(url: string): string {
  const queryStart = url.indexOf('?')
  return queryStart === -1 ? '' : url.slice(queryStart + 1)
}

/** A figure that might be wrong is never shown. */
async function answerFromStore(
  reply: FastifyReply,
  options: UsageOptions,
  answer: () => Promise<object>,
): Promise<object> {
  try {
    return await answer()
  } catch (error) {
    options.storageFailed(error)
    sendError(reply, refusalOf(error))
    return reply
  }
}

/** The refusal of a request that could not be answered. */
export function refusalOf(error: unknown): 'query_timeout' | 'storage_unavailable' {
  return error instanceof TookTooLong || isQueryTimeout(error) ? 'query_timeout' : 'storage_unavailable'
}
