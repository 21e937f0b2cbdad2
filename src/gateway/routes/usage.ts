import type { FastifyInstance } from 'fastify'
import { sendError } from '../../http/answer-error.ts'
import { asOf } from '../../http/as-of.ts'
import { isQueryTimeout } from '../../store/connection/query-timeout.ts'
import type { ClientQuery } from '../../usage/query/answer-usage.ts'
import { CLIENT_FORM, parseUsageQuery } from '../../usage/query/usage-query.ts'
import { admissionOf } from '../admission/http-hooks.ts'
import { TookTooLong } from '../summaries.ts'

export interface UsageOptions {
  readonly basePath: string
  /**
   * The answer, and until when it is whole, in milliseconds since 1970; `null`: it lacks no call. Rejects when the store
   * is away.
   */
  readonly summarise: (query: ClientQuery) => Promise<{
    readonly summary: object
    readonly wholeUntilMs: number | null
  }>
  /** What a summary adds on demand, read behind it. Rejects alike. */
  readonly listLimits: (clientId: string, keyId: string) => Promise<readonly object[]>
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
  readonly storageFailed: (error: unknown) => void
}

/** `GET /v1/usage`: what the caller's client used, whichever of its keys asks. */
export function usage(app: FastifyInstance, options: UsageOptions): void {
  app.get(`${options.basePath}/v1/usage`, async (request, reply) => {
    const { caller, urlWithoutKey } = admissionOf(request)
    const queryStart = urlWithoutKey.indexOf('?')
    const search = queryStart === -1 ? '' : urlWithoutKey.slice(queryStart + 1)
    const parsed = parseUsageQuery(search, CLIENT_FORM, options.now())
    if (parsed.kind === 'problem') {
      sendError(reply, 'invalid_request', { param: parsed.param, message: parsed.message })
      return reply
    }
    try {
      const client = { id: caller.clientId, name: caller.clientName }
      const { summary, wholeUntilMs } = await options.summarise({ ...parsed.query, client })
      if (wholeUntilMs !== null) reply.headers(asOf(wholeUntilMs))
      if (parsed.includesLimits !== true) return reply.send(summary)
      const limits = await options.listLimits(caller.clientId, caller.keyId)
      return reply.send({ ...summary, limits })
    } catch (error) {
      // A figure that might be wrong is never shown.
      options.storageFailed(error)
      const tookTooLong = error instanceof TookTooLong || isQueryTimeout(error)
      sendError(reply, tookTooLong ? 'query_timeout' : 'storage_unavailable')
      return reply
    }
  })
}
