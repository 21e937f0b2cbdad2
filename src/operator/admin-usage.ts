import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import { periodOf } from '../domain/period.ts'
import type { UtcDay } from '../domain/utc-day.ts'
import { GatewayError } from '../http/errors.ts'
import { asOf } from '../usage/query/answer-usage.ts'
import { OPERATOR_FORM, parseUsageQuery, type UsageQuery } from '../usage/query/usage-query.ts'
import { type CheckedUse, renderUnpriced } from '../usage/unpriced-use.ts'
import { NEXT_CURSOR } from './admin-answers.ts'
import { days, parseInput } from './admin-input.ts'

export interface AdminUsageOptions {
  /** The answer to a query about the client of this name, or (`null`) about all. `null`: there is no such client. `next` is the cursor of the groups behind these. */
  readonly answerUsage: (
    client: string | null,
    query: Omit<UsageQuery, 'client'>,
  ) => Promise<{ readonly document: unknown; readonly next: string | null } | null>
  readonly selectUnpriced: (fromDay: UtcDay) => Promise<readonly CheckedUse[]>
  /** How old an answer of a replica is at most, in milliseconds; `null`: it is of now. */
  readonly replicaLagMs: () => number | null
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

const unpricedQuery = z.strictObject({ days })

/** `/usage` and `/unpriced`: usage, its cost, and the part without a price. */
export function adminUsage(app: FastifyInstance, options: AdminUsageOptions): void {
  /** Says of when the answer is, before it is read: it may be newer, and is never older. */
  const sayAge = (reply: FastifyReply): void => {
    const lagMs = options.replicaLagMs()
    if (lagMs !== null) reply.headers(asOf(options.now() - lagMs))
  }

  app.get('/usage', async (request, reply) => {
    const [, search = ''] = /\?(.*)$/s.exec(request.url) ?? []
    const parsed = parseUsageQuery(search, OPERATOR_FORM, options.now())
    if (parsed.kind === 'problem') {
      throw new GatewayError('invalid_request', { param: parsed.param, message: parsed.message })
    }
    const { client, query } = parsed
    sayAge(reply)
    const answer = await options.answerUsage(client, query)
    if (answer === null) {
      throw new GatewayError('not_found', { param: 'client', message: `There is no client named ${client}.` })
    }
    if (answer.next !== null) reply.header(NEXT_CURSOR, answer.next)
    return answer.document
  })

  app.get('/unpriced', async (request, reply) => {
    const query = parseInput(unpricedQuery, request.query)
    sayAge(reply)
    const { fromDay } = periodOf(query.days, options.now())
    return (await options.selectUnpriced(fromDay)).map(renderUnpriced)
  })
}
