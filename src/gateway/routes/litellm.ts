import type { FastifyInstance } from 'fastify'
import { sendError } from '../../http/answer-error.ts'
import type { Readiness } from '../../http/listener.ts'
import { type AskingKey, askingKey, type CompatAnswer } from '../../litellm/compat/asking-key.ts'
import { LITELLM_HEALTH_PATHS, LITELLM_PATHS, type LiteLlmPath } from '../../litellm/compat/own-paths.ts'
import { asOf } from '../../usage/query/answer-usage.ts'
import { admissionOf } from '../admission/http-hooks.ts'
import { queryOf, refusalOf } from './usage.ts'

/** An answer, and until when it is whole, in milliseconds since 1970; `null`: it lacks no call. */
export interface LiteLlmAnswer {
  readonly answer: CompatAnswer
  readonly wholeUntilMs: number | null
}

export interface LiteLlmOptions {
  readonly basePath: string
  /** Rejects when the store is away. */
  readonly answer: (path: LiteLlmPath, asking: AskingKey, query: URLSearchParams) => Promise<LiteLlmAnswer>
  readonly storageFailed: (error: unknown) => void
}

/** What programs of LiteLLM ask a gateway, of the key that asks. Read only: other methods go upstream as ever. */
export function liteLlm(app: FastifyInstance, { basePath, answer, storageFailed }: LiteLlmOptions): void {
  for (const path of LITELLM_PATHS)
    app.get(basePath + path, async (request, reply) => {
      const { caller, key, errorShape } = admissionOf(request)
      // With its keys: one that is not the asker's is refused, not passed over.
      const query = new URLSearchParams(queryOf(request.raw.url ?? ''))
      try {
        const found = await answer(path, askingKey(caller, key), query)
        if (found.wholeUntilMs !== null) reply.headers(asOf(found.wholeUntilMs))
        if (found.answer.kind === 'answer') {
          if (found.answer.isTruncated === true) reply.header('x-litellm-spend-logs-truncated', 'true')
          return reply.send(found.answer.document)
        }
        const { kind, param, message } = found.answer
        const error = kind === 'invalid' ? 'invalid_request' : 'not_found'
        sendError(reply, error, { param, message }, errorShape)
      } catch (error) {
        // A figure that might be wrong is never shown.
        storageFailed(error)
        sendError(reply, refusalOf(error), {}, errorShape)
      }
      return reply
    })
}

/** What balancers ask of a LiteLLM: neither needs a key. */
export function liteLlmHealth(app: FastifyInstance, basePath: string, readiness: () => Readiness): void {
  for (const path of LITELLM_HEALTH_PATHS)
    app.get(basePath + path, (_request, reply) => {
      const { ready, degraded } = readiness()
      if (degraded.includes('stopping')) return reply.code(503).send({ status: 'shutting_down' })
      if (path !== '/health/readiness') return reply.type('application/json').send(`"I'm alive!"`)
      const db = degraded.includes('postgres') ? 'disconnected' : 'connected'
      return reply.code(ready ? 200 : 503).send({ status: ready ? 'healthy' : 'unhealthy', db })
    })
}
