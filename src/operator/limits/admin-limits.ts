import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { utcDayOf } from '../../domain/utc-day.ts'
import { GatewayError } from '../../http/errors.ts'
import { findScope } from '../../limits/find-scope.ts'
import { renderAmount, renderLimit } from '../../limits/limit-document.ts'
import { parseRaiseEnd, RAISE_END_FORMS } from '../../limits/raise-end.ts'
import { findLimitById, type NamedLimit, showLimits } from '../../limits/shown-limits.ts'
import { setLimits } from '../../limits/table/change-limits.ts'
import { raiseLimits, topUpBudget } from '../../limits/table/raise-limits.ts'
import { removeLimits } from '../../limits/table/remove-limits.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { stored } from '../admin-answers.ts'
import { parseInput } from '../admin-input.ts'
import { tokenHolder } from '../admin-token.ts'
import { adminLimitLists } from './admin-limit-lists.ts'
import {
  invalid,
  limitChangeBody,
  newLimitBody,
  notFound,
  raiseBody,
  readAmount,
  readLimitOrder,
  readPayment,
  topUpBody,
} from './limit-input.ts'

export interface AdminLimitsOptions {
  readonly pool: Postgres
  /** Announces a change to the gateways. */
  readonly announce: () => void
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

type OfOne = { Params: { id: string } }

/** `/limits`: rates and budgets of clients, each change with an audit row that names the operator's token. */
export function adminLimits(app: FastifyInstance, options: AdminLimitsOptions): void {
  const { pool, announce, now } = options
  adminLimitLists(app, options)

  /** Announces a change and answers with the limit as it stands. */
  const answer = async (request: FastifyRequest, id: string) => {
    announce()
    request.log.info({ event: 'admin.limit_changed', limit: id }, 'limit changed')
    return await show(await getLimit(id))
  }
  const show = async (named: NamedLimit) => {
    const nowMs = now()
    const [shown] = await stored(showLimits(pool, [named], null, nowMs))
    return shown === undefined ? null : renderLimit(shown, nowMs)
  }
  const getLimit = async (id: string): Promise<NamedLimit> => {
    const found = z.string().regex(LIMIT_ID).safeParse(id).success
      ? await stored(findLimitById(pool, id))
      : null
    if (found === null) throw noLimit(id)
    return found
  }

  app.post('/limits', async (request) => {
    const {
      client,
      key = null,
      model = null,
      soft = false,
      kind,
      per,
      ...body
    } = parseInput(newLimitBody, request.body)
    const order = readLimitOrder({ kind, per, isSoft: soft }, body, utcDayOf(now()))
    if (client === null && key !== null) throw invalid('key', 'is of a client: a default is for every key')
    const found = await stored(findScope(pool, { client, key, model }))
    if (found.kind === 'problem') throw notFound(found.param, found.text)
    const [limit] = await stored(setLimits(pool, found.scope, [order], tokenHolder(request)))
    return await answer(request, limit?.id ?? '')
  })

  app.put<OfOne>('/limits/:id', async (request) => {
    const { limit } = await getLimit(request.params.id)
    const order = readLimitOrder(limit, parseInput(limitChangeBody, request.body), utcDayOf(now()))
    const [changed] = await stored(setLimits(pool, limit, [order], tokenHolder(request)))
    return await answer(request, changed?.id ?? '')
  })

  app.delete<OfOne>('/limits/:id', async (request) => {
    const { id } = request.params
    const shown = await show(await getLimit(id))
    const removed = await stored(removeLimits(pool, { ids: [id] }, tokenHolder(request)))
    if (removed.length === 0) throw noLimit(id)
    announce()
    request.log.info({ event: 'admin.limit_changed', limit: id }, 'limit removed')
    return shown
  })

  app.post<OfOne>('/limits/:id/raise', async (request) => {
    const { id } = request.params
    const { limit } = await getLimit(id)
    const { to, until } = parseInput(raiseBody, request.body)
    const amount = readAmount(limit.kind, 'to', to)
    const end = parseRaiseEnd(until, now())
    if (end.kind === 'past') throw invalid('until', 'is over already')
    if (end.kind === 'unreadable') throw invalid('until', `must be ${RAISE_END_FORMS}`)
    const order = { kind: limit.kind, per: limit.per, isSoft: limit.isSoft, amount }
    const raised = await stored(raiseLimits(pool, limit, [order], end.untilMs, tokenHolder(request)))
    if (raised.kind === 'missing') throw noLimit(id)
    if (raised.kind === 'not_above')
      throw invalid(
        'to',
        `must be above ${renderAmount(limit, raised.limit.amount)}, which the limit is already`,
      )
    return await answer(request, id)
  })

  app.post<OfOne>('/limits/:id/top-up', async (request) => {
    const { id } = request.params
    const { limit } = await getLimit(id)
    const { add_usd: sent, reference = null } = parseInput(topUpBody, request.body)
    if (limit.per !== 'total') throw invalid('id', `must be that of a budget in total: limit ${id} is none`)
    const order = { isSoft: limit.isSoft, pico: readPayment('add_usd', sent), reference }
    const done = await stored(topUpBudget(pool, limit, order, tokenHolder(request)))
    if (done.kind === 'missing') throw noLimit(id)
    if (done.kind === 'too_little')
      throw invalid(
        'add_usd',
        `takes away more than the budget has, ${renderAmount(limit, done.limit.amount)} USD`,
      )
    return await answer(request, id)
  })
}

const LIMIT_ID = /^[1-9][0-9]{0,17}$/

function noLimit(id: string): GatewayError {
  return new GatewayError('not_found', { message: `There is no limit ${id}.` })
}
