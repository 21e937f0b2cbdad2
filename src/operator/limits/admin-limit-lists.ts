import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { periodOf } from '../../domain/period.ts'
import { findClient } from '../../keys/clients.ts'
import { renderLimit } from '../../limits/limit-document.ts'
import { type NamedLimit, selectLimits, selectLimitsOf, showLimits } from '../../limits/shown-limits.ts'
import { renderLimitChange, selectLimitChanges } from '../../limits/table/limit-changes.ts'
import { REFUSED_GROUPS, type RefusedSum, selectRefusedCalls } from '../../limits/table/refused-calls.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { sendPage, stored } from '../admin-answers.ts'
import { anyName, days, listPart, parseInput } from '../admin-input.ts'
import { invalid, notFound } from './limit-input.ts'

/** Without a parameter, no more items than these: what was spent is worked out for each. */
export const MOST_LISTED = 1_000

const listQuery = z.strictObject({ client: anyName.optional(), ...listPart })
const refusedQuery = z.strictObject({ days, group_by: z.string('must be a text').optional() })

/** `/limits` and `/limits/history`, in parts, and `/refused`. */
export function adminLimitLists(
  app: FastifyInstance,
  { pool, now }: { readonly pool: Postgres; readonly now: () => number },
): void {
  const findId = async (client: string | undefined): Promise<string | null> => {
    if (client === undefined) return null
    const found = await stored(findClient(pool, client))
    if (found === null) throw notFound('client', `there is no client named ${client}`)
    return found.id
  }

  app.get('/limits', async (request, reply) => {
    const { client, limit = MOST_LISTED, cursor = null } = parseInput(listQuery, request.query)
    const clientId = await findId(client)
    const rows = Math.min(limit, MOST_LISTED)
    const page =
      clientId === null
        ? await stored(pageOfAll(pool, rows, cursor))
        : pageOf(await stored(selectLimitsOf(pool, clientId)), rows, cursor)
    const nowMs = now()
    const items = await stored(showLimits(pool, sendPage(reply, page), clientId, nowMs))
    return items.map((shown) => renderLimit(shown, nowMs))
  })

  app.get('/limits/history', async (request, reply) => {
    const { client, limit = MOST_LISTED, cursor = null } = parseInput(listQuery, request.query)
    const clientId = await findId(client)
    const rows = Math.min(limit, MOST_LISTED)
    if (cursor !== null && !ID.test(cursor)) return sendPage(reply, null)
    const changes = await stored(selectLimitChanges(pool, { clientId, before: cursor, rows: rows + 1 }))
    return sendPage(
      reply,
      cut(changes, rows, ({ id }) => id),
    ).map(renderLimitChange)
  })

  app.get('/refused', async (request) => {
    const query = parseInput(refusedQuery, request.query)
    const names = query.group_by?.split(',') ?? []
    const groups = REFUSED_GROUPS.filter((group) => names.includes(group))
    if (groups.length !== names.length)
      throw invalid(
        'group_by',
        `must name ${REFUSED_GROUPS.join(', ')}, or several of them with commas between`,
      )
    const sums = await stored(selectRefusedCalls(pool, periodOf(query.days, now()), groups))
    return sums.map(renderRefused)
  })
}

const ID = /^[1-9][0-9]{0,17}$/

interface Page<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

async function pageOfAll(
  pool: Postgres,
  rows: number,
  cursor: string | null,
): Promise<Page<NamedLimit> | null> {
  if (cursor !== null && !ID.test(cursor)) return null
  return cut(await selectLimits(pool, { after: cursor ?? '0', rows: rows + 1 }), rows, idOf)
}

/** A part of a list that is whole; `null`: it does not have the item of the cursor. */
function pageOf(all: readonly NamedLimit[], rows: number, cursor: string | null): Page<NamedLimit> | null {
  const index = cursor === null ? -1 : all.findIndex((named) => idOf(named) === cursor)
  if (cursor !== null && index < 0) return null
  return cut(all.slice(index + 1, index + 2 + rows), rows, idOf)
}

/** The first so many items; one more says that others come behind. */
function cut<Item>(found: readonly Item[], rows: number, idOfItem: (item: Item) => string): Page<Item> {
  const items = found.slice(0, rows)
  const last = items[rows - 1]
  return { items, next: found.length > rows && last !== undefined ? idOfItem(last) : null }
}

function idOf({ limit }: NamedLimit): string {
  return limit.id
}

function renderRefused({ day, client, reason, calls }: RefusedSum) {
  return { day, client, reason, calls: Number(calls) }
}
