import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { periodOf } from '../domain/period.ts'
import type { UtcDay } from '../domain/utc-day.ts'
import { GatewayError } from '../http/errors.ts'
import {
  type GroupedTotals,
  renderBreakdown,
  sortByGroups,
  type UsageGroup,
} from '../usage/query/render-usage.ts'
import { renderUnpriced, type UnpricedUse } from '../usage/unpriced-document.ts'
import { anyName, days, groups, parseInput } from './admin-input.ts'

/** The query of a usage request. */
export interface AdminUsageQuery {
  /** A name; `null`: all clients. */
  readonly client: string | null
  readonly fromDay: UtcDay
  readonly toDay: UtcDay
  readonly groupBy: readonly UsageGroup[]
}

export interface AdminUsageOptions {
  /** `null`: there is no such client. */
  readonly selectUsage: (query: AdminUsageQuery) => Promise<readonly GroupedTotals[] | null>
  readonly selectUnpriced: (fromDay: UtcDay) => Promise<readonly UnpricedUse[]>
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

const usageQuery = z.strictObject({ days, by: groups.optional(), client: anyName.optional() })
const unpricedQuery = z.strictObject({ days })

/** `/usage` and `/unpriced`: usage, its cost, and the part without a price. */
export function adminUsage(app: FastifyInstance, options: AdminUsageOptions): void {
  app.get('/usage', async (request) => {
    const query = parseInput(usageQuery, request.query)
    const { by = [], client = null } = query
    const period = periodOf(query.days, options.now())
    const rows = await options.selectUsage({ client, ...period, groupBy: by })
    if (rows === null) {
      throw new GatewayError('not_found', { param: 'client', message: `There is no client named ${client}.` })
    }
    return renderBreakdown(sortByGroups(rows, by), by, client, query.days)
  })

  app.get('/unpriced', async (request) => {
    const query = parseInput(unpricedQuery, request.query)
    const { fromDay } = periodOf(query.days, options.now())
    return (await options.selectUnpriced(fromDay)).map(renderUnpriced)
  })
}
