import { NO_VALUE } from '../../call/axes.ts'
import { findClient } from '../../keys/clients.ts'
import { shownList } from '../../operations/answers.ts'
import {
  choiceField,
  clientField,
  cursorField,
  flagField,
  LIST_PART,
  LISTED_ROWS,
  textField,
} from '../../operations/fields.ts'
import { operation, Part } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { badCursor, invalid, noClient } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { isOfKey, type Limit } from '../limit.ts'
import { renderLimit } from '../limit-document.ts'
import { selectMostUsed, USE_STATES, USED_CURSOR, type UseState } from '../most-used.ts'
import {
  type NamedLimit,
  selectDefaultLimits,
  selectGroupLimits,
  selectLimits,
  selectLimitsById,
  selectLimitsOf,
  showLimits,
} from '../shown-limits.ts'
import { renderLimitChange, selectLimitChanges } from '../table/limit-changes.ts'
import { CHANGE_LISTING, LIMIT_CHANGE, LIMIT_LISTING, SHOWN_LIMIT } from './limit-answers.ts'
import { getScope, SUBJECTS } from './limit-terms.ts'

/** The most limits of an answer: what was spent is worked out for each. */
const MOST_LISTED = 1_000
export const LIMIT_ID = /^[1-9][0-9]{0,17}$/
const LIMIT_PART = { limit: LIST_PART.limit, cursor: cursorField(LIMIT_ID).optional() }
const LIMIT_CURSOR = new RegExp(`${LIMIT_ID.source}|${USED_CURSOR.source}`)

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
    group: textField('Only limits of this group, by its name or id.', 'group').optional(),
    axis: SUBJECTS.axis.describe('Only limits of values of this axis.'),
    value: SUBJECTS.value.describe(
      'With client and axis: those that hold for this value, with what it spent of them.',
    ),
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
    if (asked.group !== undefined && asked.default === true)
      throw invalid('default', 'does not go with group')
    const { axis, value = null } = asked
    const scope = await getScope(pool, { ...asked, client: client ?? null, key: key ?? null, model: null })
    const { clientId, groupId = null } = scope
    const isWanted = ({ limit: found }: NamedLimit) =>
      (key === undefined || (found.keyId !== null && isOfKey(found, key))) &&
      (model === undefined || found.model === model) &&
      (axis === undefined || found.axis === axis) &&
      (value === null || holdsForValue(found, value))
    const isOfAll = client === undefined && groupId === null && asked.default !== true
    const page =
      isOfAll && model === undefined && axis === undefined
        ? await pageOfAll(pool, limit, cursor)
        : pageOf(
            (isOfAll
              ? await selectAllLimits(pool)
              : groupId !== null
                ? await selectGroupLimits(pool, groupId)
                : clientId === null
                  ? await selectDefaultLimits(pool)
                  : await selectLimitsOf(pool, clientId)
            ).filter(isWanted),
            limit,
            cursor,
          )
    const nowMs = now()
    const shown = await showLimits(pool, page.answer, clientId, nowMs, value)
    return new Part(
      shown.map((one) => renderLimit(one, nowMs)),
      page.next,
    )
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

/** Those for each value hold for all that calls have; others take their place, which is shown beside. */
function holdsForValue(limit: Limit, value: string): boolean {
  return limit.axis !== null && (limit.value === null ? value !== NO_VALUE : limit.value === value)
}

interface MostUsedAsked {
  readonly client?: string | undefined
  readonly default?: boolean | undefined
  readonly key?: string | undefined
  readonly model?: string | undefined
  readonly axis?: string | undefined
  readonly value?: string | undefined
  readonly group?: string | undefined
  readonly state?: UseState | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

async function showMostUsed({ pool, now }: Pick<Ports, 'pool' | 'now'>, asked: MostUsedAsked) {
  const { state = 'all', limit = MOST_LISTED, cursor = null } = asked
  const other = (['client', 'default', 'key', 'model', 'axis', 'value', 'group'] as const).find(
    (name) => asked[name] !== undefined,
  )
  if (other !== undefined) throw invalid(other, 'does not go with sort=used')
  if (cursor !== null && !USED_CURSOR.test(cursor)) throw badCursor()
  const nowMs = now()
  const found = await selectMostUsed(pool, nowMs, { state, cursor, rows: limit + 1 })
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
