import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { periodOf } from '../domain/period.ts'
import type { UtcDay } from '../domain/utc-day.ts'
import { GatewayError } from '../http/errors.ts'
import { OPERATOR_FORM, parseUsageQuery, type UsageQuery } from '../usage/query/usage-query.ts'
import { type CheckedUse, renderUnpriced } from '../usage/unpriced-document.ts'
import { days, parseInput } from './admin-input.ts'

export interface AdminUsageOptions {
  /** The answer to a query about the client of this name, or (`null`) about all. `null`: there is no such client. */
  readonly answerUsage: (
    client: string | null,
    query: Omit<UsageQuery, 'client'>,
  ) => Promise<{ readonly document: unknown } | null>
  readonly selectUnpriced: (fromDay: UtcDay) => Promise<readonly CheckedUse[]>
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

const unpricedQuery = z.strictObject({ days })

/** `/usage` and `/unpriced`: usage, its cost, and the part without a price. */
export function adminUsage(app: FastifyInstance, options: AdminUsageOptions): void {
  app.get('/usage', async (request) => {
    const [, search = ''] = /\?(.*)$/s.exec(request.url) ?? []
    const parsed = parseUsageQuery(search, OPERATOR_FORM, options.now())
    if (parsed.kind === 'problem') {
      throw new GatewayError('invalid_request', { param: parsed.param, message: parsed.message })
    }
    const { client, query } = parsed
    const answer = await options.answerUsage(client, query)
    if (answer === null) {
      throw new GatewayError('not_found', { param: 'client', message: `There is no client named ${client}.` })
    }
    return answer.document
  })

  app.get('/unpriced', async (request) => {
    const query = parseInput(unpricedQuery, request.query)
    const { fromDay } = periodOf(query.days, options.now())
    return (await options.selectUnpriced(fromDay)).map(renderUnpriced)
  })
}
