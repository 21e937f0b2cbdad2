import { utcDayOf } from '../../domain/utc-day.ts'
import { findClient } from '../../keys/clients.ts'
import { shownList } from '../../operations/answers.ts'
import {
  choiceField,
  clientField,
  cursorField,
  flagField,
  LIST_PART,
  LISTED_ROWS,
  lineField,
  modelField,
  textField,
} from '../../operations/fields.ts'
import { operation, Part } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { badCursor, invalid, noClient, notFound } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { isOfKey, LIMIT_KINDS } from '../limit.ts'
import { renderLimit } from '../limit-document.ts'
import { selectMostUsed, USE_STATES, USED_CURSOR, type UseState } from '../most-used.ts'
import {
  findLimitById,
  type NamedLimit,
  selectDefaultLimits,
  selectLimits,
  selectLimitsById,
  selectLimitsOf,
  showLimits,
} from '../shown-limits.ts'
import { removeLimits, setLimits } from '../table/change-limits.ts'
import { renderLimitChange, selectLimitChanges } from '../table/limit-changes.ts'
import { raiseLimits, topUpBudget } from '../table/raise-limits.ts'
import {
  CHANGE_LISTING,
  LIMIT_CHANGE,
  LIMIT_LISTING,
  type LimitDocument,
  SHOWN_LIMIT,
} from './limit-answers.ts'
import {
  amountField,
  getScope,
  PER,
  paymentField,
  readAmount,
  readOrders,
  readUntil,
  requireRaised,
  requireToppedUp,
  SETTINGS,
  UNTIL,
} from './limit-terms.ts'

/** The most limits of an answer: what was spent is worked out for each. */
const MOST_LISTED = 1_000
const LIMIT_ID = /^[1-9][0-9]{0,17}$/
const LIMIT_PART = { limit: LIST_PART.limit, cursor: cursorField(LIMIT_ID).optional() }
const LIMIT_CURSOR = new RegExp(`${LIMIT_ID.source}|${USED_CURSOR.source}`)

const ID = textField('The id of the limit.', 'id')
const AMOUNT = amountField(
  'US dollars for a budget, as text where they have to be exact; else a whole number.',
)

export const listLimits = operation({
  name: 'limits.list',
  summary: 'Shows limits, and what is spent and left of budgets.',
  description: 'With a client: the limits that hold for it, defaults included, with what it spent of them.',
  role: 'read',
  http: { method: 'GET', path: '/limits', id: 'listLimits', rows: LISTED_ROWS },
  input: {
    client: clientField().optional(),
    default: flagField('Only the defaults, which hold for clients that have none like them.').optional(),
    key: textField('Only limits of this key of the client.', 'id').optional(),
    model: textField('Only limits of exactly this model or beginning of names.', 'pattern').optional(),
    sort: choiceField(
      ['id', 'used'],
      'used: budgets of clients alone, those nearest their end first.',
    ).default('id'),
    state: choiceField(
      USE_STATES,
      'With sort=used: budgets that are spent, from 80 % on, or all.',
    ).optional(),
    limit: LIST_PART.limit,
    cursor: cursorField(LIMIT_CURSOR).optional(),
  },
  answer: shownList(SHOWN_LIMIT),
  gives: 'The limits, at most 1,000.',
  errors: ['not_found'],
  command: { words: 'limits show', print: LIMIT_LISTING },
  async run({ pool, now }: Ports, asked) {
    const { client, key, model, sort, limit = MOST_LISTED, cursor = null } = asked
    if (sort === 'used') return await showMostUsed({ pool, now }, asked)
    if (asked.state !== undefined) throw invalid('state', 'needs sort=used')
    if (cursor !== null && !LIMIT_ID.test(cursor)) throw badCursor()
    if (client !== undefined && asked.default === true) throw invalid('default', 'does not go with client')
    if (key !== undefined && client === undefined) throw invalid('key', 'needs client')
    const { clientId } = await getScope(pool, { client: client ?? null, key: key ?? null, model: null })
    const isWanted = ({ limit: found }: NamedLimit) =>
      (key === undefined || (found.keyId !== null && isOfKey(found, key))) &&
      (model === undefined || found.model === model)
    const isOfAll = client === undefined && asked.default !== true
    const page =
      isOfAll && model === undefined
        ? await pageOfAll(pool, limit, cursor)
        : pageOf(
            (isOfAll
              ? await selectAllLimits(pool)
              : clientId === null
                ? await selectDefaultLimits(pool)
                : await selectLimitsOf(pool, clientId)
            ).filter(isWanted),
            limit,
            cursor,
          )
    const nowMs = now()
    const shown = await showLimits(pool, page.answer, clientId, nowMs)
    return new Part(
      shown.map((one) => renderLimit(one, nowMs)),
      page.next,
    )
  },
})

export const setLimit = operation({
  name: 'limits.set',
  summary: 'Sets a limit, in the place of the one like it. Sent twice, there is one.',
  role: 'write',
  http: { method: 'POST', path: '/limits', id: 'setLimit', body: 'NewLimit' },
  input: {
    client: clientField()
      .nullable()
      .describe('The name of a client. null: the default of all clients that have none like it.'),
    key: textField('The id of a key of the client.', 'id').optional(),
    model: modelField('A name, with its revisions, or a beginning of names and *.').optional(),
    kind: choiceField(
      LIMIT_KINDS,
      'budget: US dollars; requests, tokens: a minute; concurrent: calls at once.',
    ),
    per: PER.optional(),
    soft: flagField('A budget that alerts and refuses nothing.').default(false),
    limit: AMOUNT,
    ...SETTINGS,
  },
  answer: SHOWN_LIMIT,
  gives: 'The limit as it stands.',
  errors: ['not_found'],
  changes: changed('limit set'),
  command: { none: ['limits.set-several'] },
  async run(ports: Ports, asked, who) {
    const { client, key = null, model = null, soft: isSoft, kind, per = null, limit, ...settings } = asked
    const { pool, now } = ports
    const [order] = readOrders(
      [{ kind, per, isSoft, amount: readAmount(kind, 'limit', limit) }],
      settings,
      utcDayOf(now()),
    )
    if (client === null && key !== null) throw invalid('key', 'needs client: a default is for every key')
    const scope = await getScope(pool, { client, key, model })
    const [set] = await setLimits(pool, scope, order === undefined ? [] : [order], who)
    return await getShown(ports, set?.id ?? '')
  },
})

export const changeLimit = operation({
  name: 'limits.change',
  summary: 'Changes what a limit allows. A raise stays.',
  role: 'write',
  http: { method: 'PUT', path: '/limits/{id}', id: 'changeLimit', body: 'LimitChange' },
  input: { id: ID, limit: AMOUNT, ...SETTINGS },
  answer: SHOWN_LIMIT,
  gives: 'The limit as it stands.',
  errors: ['not_found'],
  changes: changed('limit changed'),
  command: { none: ['limits.set-several'] },
  async run(ports: Ports, { id, limit: amount, ...settings }, who) {
    const { pool, now } = ports
    const { limit } = await getLimit(pool, id)
    const sort = { kind: limit.kind, per: limit.per, isSoft: limit.isSoft }
    const orders = readOrders(
      [{ ...sort, amount: readAmount(limit.kind, 'limit', amount) }],
      settings,
      utcDayOf(now()),
    )
    const [set] = await setLimits(pool, limit, orders, who)
    return await getShown(ports, set?.id ?? '')
  },
})

export const removeLimit = operation({
  name: 'limits.remove',
  summary: 'Lifts a limit.',
  role: 'write',
  http: { method: 'DELETE', path: '/limits/{id}', id: 'removeLimit' },
  input: { id: ID },
  answer: SHOWN_LIMIT,
  gives: 'The limit as it was.',
  errors: ['not_found'],
  changes: changed('limit removed'),
  command: { none: ['limits.remove-several'] },
  async run(ports: Ports, { id }, who) {
    const shown = await getShown(ports, id)
    const removed = await removeLimits(ports.pool, { ids: [id] }, who)
    if (removed.length === 0) throw noLimit(id)
    return shown
  },
})

export const raiseLimit = operation({
  name: 'limits.raise',
  summary: 'Allows more until a time. Then the limit holds as before.',
  role: 'write',
  http: { method: 'POST', path: '/limits/{id}/raise', id: 'raiseLimit', body: 'LimitRaise' },
  input: { id: ID, to: AMOUNT, until: UNTIL },
  answer: SHOWN_LIMIT,
  gives: 'The limit as it stands.',
  errors: ['not_found', 'conflict'],
  changes: changed('limit raised'),
  command: { none: ['limits.raise-several'] },
  async run(ports: Ports, { id, to, until }, who) {
    const { pool, now } = ports
    const { limit } = await getLimit(pool, id)
    const { kind, per, isSoft } = limit
    const amount = readAmount(kind, 'to', to)
    const raised = await raiseLimits(
      pool,
      limit,
      [{ kind, per, isSoft, amount }],
      readUntil(until, now()),
      who,
    )
    requireRaised(raised, 'to')
    return await getShown(ports, id)
  },
})

export const topUpLimit = operation({
  name: 'limits.top-up',
  summary: 'Adds to a budget in total, for good.',
  role: 'write',
  http: { method: 'POST', path: '/limits/{id}/top-up', id: 'topUpBudget', body: 'TopUp' },
  input: {
    id: ID,
    add_usd: paymentField(),
    reference: lineField('The name of the payment, which counts once, however often it is sent.').optional(),
  },
  answer: SHOWN_LIMIT,
  gives: 'The limit as it stands.',
  errors: ['not_found', 'conflict'],
  changes: changed('limit topped up'),
  command: { none: ['limits.top-up-scope'] },
  async run(ports: Ports, { id, add_usd: pico, reference = null }, who) {
    const { limit } = await getLimit(ports.pool, id)
    if (limit.per !== 'total') throw invalid('id', `must name a budget in total, and limit ${id} is none`)
    const order = { isSoft: limit.isSoft, pico, reference }
    requireToppedUp(await topUpBudget(ports.pool, limit, order, who), 'add_usd')
    return await getShown(ports, id)
  },
})

export const listLimitChanges = operation({
  name: 'limits.history',
  summary: 'Shows who changed which limit, when, and from what to what, the newest first.',
  role: 'read',
  http: { method: 'GET', path: '/limits/history', id: 'listLimitChanges', rows: LISTED_ROWS },
  input: { client: clientField().optional(), ...LIMIT_PART },
  answer: shownList(LIMIT_CHANGE),
  gives: 'The changes, at most 1,000.',
  errors: ['not_found'],
  command: { words: 'limits history', print: CHANGE_LISTING },
  async run({ pool }: Ports, { client, limit = MOST_LISTED, cursor = null }) {
    const found = client === undefined ? null : await findClient(pool, client)
    if (client !== undefined && found === null) throw noClient(client)
    const changes = await selectLimitChanges(pool, {
      clientId: found?.id ?? null,
      before: cursor,
      rows: limit + 1,
    })
    const { answer, next } = cut(changes, limit, ({ id }) => id)
    return new Part(answer.map(renderLimitChange), next)
  },
})

/** Gateways have limits in memory. */
export function changed(says: string) {
  return {
    event: 'admin.limit_changed',
    says,
    log: (answer: LimitDocument | readonly LimitDocument[]) =>
      'id' in answer ? { limit: answer.id } : { limits: answer.map(({ id }) => id) },
    isAnnounced: true,
  } as const
}

interface MostUsedAsked {
  readonly client?: string | undefined
  readonly default?: boolean | undefined
  readonly key?: string | undefined
  readonly model?: string | undefined
  readonly state?: UseState | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

async function showMostUsed({ pool, now }: Pick<Ports, 'pool' | 'now'>, asked: MostUsedAsked) {
  const { state = 'all', limit = MOST_LISTED, cursor = null } = asked
  const other = (['client', 'default', 'key', 'model'] as const).find((name) => asked[name] !== undefined)
  if (other !== undefined) throw invalid(other, 'does not go with sort=used')
  if (cursor !== null && !USED_CURSOR.test(cursor)) throw badCursor()
  const nowMs = now()
  const found = await selectMostUsed(pool, utcDayOf(nowMs), { state, cursor, rows: limit + 1 })
  const page = cut(found, limit, (budget) => budget.cursor)
  const named = await selectLimitsById(
    pool,
    page.answer.map(({ id }) => id),
  )
  const shown = await showLimits(pool, named, null, nowMs)
  return new Part(
    shown.map((one) => renderLimit(one, nowMs)),
    page.next,
  )
}

async function getLimit(pool: Postgres, id: string): Promise<NamedLimit> {
  const found = LIMIT_ID.test(id) ? await findLimitById(pool, id) : null
  if (found === null) throw noLimit(id)
  return found
}

async function getShown({ pool, now }: Ports, id: string): Promise<LimitDocument> {
  const named = await getLimit(pool, id)
  const nowMs = now()
  const [shown] = await showLimits(pool, [named], null, nowMs)
  if (shown === undefined) throw noLimit(id)
  return renderLimit(shown, nowMs)
}

function noLimit(id: string) {
  return notFound(`There is no limit ${id}.`, undefined, 'limits show lists them')
}

/** Every limit there is. */
async function selectAllLimits(pool: Postgres): Promise<readonly NamedLimit[]> {
  const all: NamedLimit[] = []
  for (let after: string | null = null; ; ) {
    const page: Part<readonly NamedLimit[]> = await pageOfAll(pool, MOST_LISTED, after)
    all.push(...page.answer)
    if (page.next === null) return all
    after = page.next
  }
}

async function pageOfAll(pool: Postgres, rows: number, cursor: string | null) {
  return cut(await selectLimits(pool, { after: cursor ?? '0', rows: rows + 1 }), rows, idOf)
}

/** A part of a list that is whole. */
function pageOf(all: readonly NamedLimit[], rows: number, cursor: string | null) {
  const index = cursor === null ? -1 : all.findIndex((named) => idOf(named) === cursor)
  if (cursor !== null && index < 0) throw badCursor()
  return cut(all.slice(index + 1, index + 2 + rows), rows, idOf)
}

/** The first so many items. One more says that others come behind. */
function cut<Item>(found: readonly Item[], rows: number, idOfItem: (item: Item) => string) {
  const items: readonly Item[] = found.slice(0, rows)
  const last = items[rows - 1]
  return new Part(items, found.length > rows && last !== undefined ? idOfItem(last) : null)
}

function idOf({ limit }: NamedLimit): string {
  return limit.id
}
