import { z } from 'zod'
import { AXIS_NAME, NO_VALUE } from '../../call/axes.ts'
import { DURATION_FORM, parseDurationSeconds } from '../../domain/duration.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { findClient } from '../../keys/clients.ts'
import { findGroup } from '../../keys/groups/groups.ts'
import { choiceField, dayField, formField, lineField, textField, usdField } from '../../operations/fields.ts'
import type { InputOf } from '../../operations/operation.ts'
import { VALUE } from '../../operations/read-input.ts'
import { conflict, invalid, notFound } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { BUDGET_PERIODS, type LimitKind, WHEN_ALONE } from '../limit.ts'
import {
  AMOUNT_FORM,
  describeAmounts,
  describeSort,
  MOST_OF_ALL,
  parseAmount,
  renderAmount,
} from '../limit-document.ts'
import type { LimitScope } from '../subject.ts'
import type { LimitOrder, LimitSort } from '../table/change-limits.ts'
import type { Raised, ToppedUp } from '../table/raise-limits.ts'

/** Rules of what a limit may say, for the operations over HTTP and the commands alike. */

const MOMENT =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,3})?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?$/
const RAISE_END = new RegExp(`${MOMENT.source}|${DURATION_FORM.source}`)
const FURTHEST_MS = 100 * 366 * 86_400_000

/** How the end of a raise is written. */
const RAISE_END_FORMS = 'a time such as 2026-12-01T18:00Z, a UTC day, or a time from now such as 4h'

type RaiseEnd =
  | { readonly kind: 'end'; readonly untilMs: number }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'past' }

/** The moment at which a raise ends; a day stands for its first moment. */
function parseRaiseEnd(text: string, nowMs: number): RaiseEnd {
  const seconds = parseDurationSeconds(text)
  const untilMs = seconds !== null ? nowMs + seconds * 1000 : readMoment(text)
  if (untilMs === null || untilMs - nowMs > FURTHEST_MS) return { kind: 'unreadable' }
  return untilMs > nowMs ? { kind: 'end', untilMs } : { kind: 'past' }
}

/** `null`: it is none, or names a day that does not exist, which `Date` would take for another one. */
function readMoment(text: string): number | null {
  if (!MOMENT.test(text)) return null
  const day = Date.parse(text.slice(0, 10))
  if (Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== text.slice(0, 10)) return null
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? null : ms
}

/** An amount as it is sent: US dollars for a budget, else a whole number. `readAmount` knows how much it may be. */
export function amountField(description: string, value = 'n') {
  return z.union([z.string(), z.number()], 'must be a number, or US dollars as text').meta({
    anyOf: [
      { type: 'string', pattern: AMOUNT_FORM.source },
      { type: 'number', exclusiveMinimum: 0, maximum: MOST_OF_ALL },
    ],
    description,
    [VALUE]: value,
  })
}

/** What is added to a budget in total. */
export function paymentField() {
  return usdField('US dollars, such as 50. Below 0 takes away.', 9)
}

/** Which calls a limit is about, beside those of clients, keys and models. */
export const SUBJECTS = {
  group: textField('All clients of this group together: its name or id.', 'group').optional(),
  axis: formField(AXIS_NAME, 'must be the name of an axis', {
    description: 'Values of this axis of the configuration, each apart: each user, each session.',
    examples: ['user'],
    [VALUE]: 'name',
  }).optional(),
  value: lineField(
    'Only this value of the axis, as reports show it. (none): calls without one. Without it: each value that has no limit of its own like it.',
  ).optional(),
}

/** @throws {GatewayError} When there is a value without an axis, or no call can have it. */
function checkValues({
  axis,
  value,
}: {
  readonly axis?: string | undefined
  readonly value?: string | undefined
}): void {
  if (value === undefined) return
  if (axis === undefined) throw invalid('value', 'needs axis')
  if (value.startsWith('(') && value !== NO_VALUE)
    throw invalid('value', `must be a value that calls have, or ${NO_VALUE}`)
}

export const PER = choiceField(
  BUDGET_PERIODS,
  'The period of a budget, in UTC. Every budget has one.',
  'period',
)

/** LimitSettings that some sorts of limits have. Left out: they stay, or are as described where the limit is new. */
export const SETTINGS = {
  since: dayField(
    'The first UTC day that counts for a budget in total. New and without it: today.',
  ).optional(),
  cached: choiceField(
    ['count', 'ignore'],
    'Whether cached prompt tokens count for a limit of tokens. New and without it: count.',
  ).optional(),
  unpriced: choiceField(
    ['allow', 'refuse'],
    'Whether calls of models without a price pass a hard budget. New and without it: refuse.',
  ).optional(),
  when_alone: choiceField(
    WHEN_ALONE,
    'What a gateway that cannot ask the others does with calls beyond its share of a hard budget. New and without it: refuse.',
  ).optional(),
}

const isHardBudget = ({ kind, isSoft }: LimitSort) => kind === 'budget' && !isSoft

/** The sorts of limits that have a setting. */
const APPLIES = {
  since: { to: 'budgets in total', where: ({ per }: LimitSort) => per === 'total' },
  cached: { to: 'limits of tokens', where: ({ kind }: LimitSort) => kind === 'tokens' },
  unpriced: { to: 'hard budgets', where: isHardBudget },
  when_alone: { to: 'hard budgets', where: isHardBudget },
} as const

export type LimitSettings = InputOf<typeof SETTINGS>

/**
 * The orders for limits of these sorts, each with the settings that apply to it.
 *
 * @throws {GatewayError} When a setting applies to none of them.
 */
export function readOrders(
  sorts: readonly (LimitSort & { readonly amount: bigint })[],
  settings: LimitSettings,
  today: UtcDay,
): readonly LimitOrder[] {
  for (const { kind, per, isSoft } of sorts) {
    if (kind === 'budget' && per === null) throw invalid('per', 'is missing: a budget needs a period')
    if (kind !== 'budget' && per !== null) throw invalid('per', 'applies only to budgets')
    if (kind !== 'budget' && isSoft) throw invalid('soft', 'applies only to budgets')
  }
  for (const [name, { to, where }] of Object.entries(APPLIES))
    if (settings[name as keyof LimitSettings] !== undefined && !sorts.some(where))
      throw invalid(name, `applies only to ${to}`)
  const { since, cached, unpriced, when_alone: whenAlone } = settings
  if (since !== undefined && since > today) throw invalid('since', 'must not be after today')
  return sorts.map((sort) => ({
    ...sort,
    since: APPLIES.since.where(sort) ? since : undefined,
    countsCached: APPLIES.cached.where(sort) && cached !== undefined ? cached === 'count' : undefined,
    allowsUnpriced: isHardBudget(sort) && unpriced !== undefined ? unpriced === 'allow' : undefined,
    whenAlone: isHardBudget(sort) ? whenAlone : undefined,
  }))
}

/** @throws {GatewayError} When the kind cannot say so much. */
export function readAmount(kind: LimitKind, param: string, sent: string | number): bigint {
  const written = String(sent)
  const parsed = parseAmount(kind, written)
  if (parsed !== null) return parsed
  const isNone = /^-?0*(?:\.0*)?$/.test(written)
  throw invalid(
    param,
    `must be ${describeAmounts(kind)}`,
    isNone ? 'to refuse all calls of a client: client disable NAME' : undefined,
  )
}

export const UNTIL = formField(RAISE_END, `must be ${RAISE_END_FORMS}`, {
  description: `The end of the raise: ${RAISE_END_FORMS}.`,
  [VALUE]: 'time',
})

/** The end of a raise, in milliseconds since 1970. */
export function readUntil(until: string, nowMs: number): number {
  const end = parseRaiseEnd(until, nowMs)
  if (end.kind === 'end') return end.untilMs
  throw invalid('until', end.kind === 'past' ? 'must be a time to come' : `must be ${RAISE_END_FORMS}`)
}

/** Finds whose calls are meant. @throws {GatewayError} When there is no such client or key. */
export async function getScope(pool: Postgres, named: NamedScope): Promise<LimitScope> {
  if (named.group !== undefined && named.client !== null) throw invalid('group', 'does not go with client')
  if (named.group !== undefined && named.key !== null) throw invalid('key', 'needs client')
  checkValues(named)
  const found = await findScope(pool, named)
  if (found.kind === 'scope') return found.scope
  const list =
    found.param === 'group'
      ? 'group list'
      : found.param === 'key'
        ? `key list --client ${named.client}`
        : 'client list'
  throw notFound(
    `${found.text.charAt(0).toUpperCase()}${found.text.slice(1)}.`,
    found.param,
    `${list} shows them`,
  )
}

/** @param param The field that says how far a limit is raised. */
export function requireRaised(raised: Raised, param: string): void {
  if (raised.kind === 'missing')
    throw notFound(
      `There is no such limit (${describeSort(raised.sort)}) to raise.`,
      undefined,
      'limits set makes one',
    )
  if (raised.kind === 'not_above') {
    const amount = renderAmount(raised.limit, raised.limit.amount)
    throw conflict(
      `${param} must be above ${amount}, which the limit (${describeSort(raised.limit)}) is already.`,
      param,
      'limits set lowers it',
    )
  }
}

/** @param param The field that says how much is added. */
export function requireToppedUp(done: ToppedUp, param: string): void {
  if (done.kind === 'missing')
    throw notFound(
      'There is no budget in total to top up.',
      undefined,
      'limits set --budget USD --per total makes one',
    )
  if (done.kind === 'too_little')
    throw conflict(
      `${param} takes away more than the budget has, ${renderAmount(done.limit, done.limit.amount)} USD.`,
      param,
      'limits remove removes it',
    )
}

/** Whose calls are meant, as operators write it. */
interface NamedScope {
  /** A client's name; `null`: the defaults of all. */
  readonly client: string | null
  /** The id of one of its keys; `null`: all of them. */
  readonly key: string | null
  readonly model: string | null
  /** Values of this axis, each apart, or one of them. */
  readonly axis?: string | undefined
  readonly value?: string | undefined
  /** All clients of this group together: its name or id. */
  readonly group?: string | undefined
}

type FoundScope =
  | { readonly kind: 'scope'; readonly scope: LimitScope }
  /** One sentence without its full stop, about the parameter. */
  | { readonly kind: 'problem'; readonly param: 'client' | 'key' | 'group'; readonly text: string }

/** Finds the client and its key by what operators call them. */
async function findScope(
  pool: Postgres,
  { client, key, model, axis, value, group }: NamedScope,
): Promise<FoundScope> {
  const found = client === null ? null : await findClient(pool, client)
  if (client !== null && found === null)
    return { kind: 'problem', param: 'client', text: `there is no client named ${client}` }
  const clientId = found?.id ?? null
  const inGroup = group === undefined ? null : await findGroup(pool, group)
  if (group !== undefined && inGroup === null)
    return { kind: 'problem', param: 'group', text: `there is no group ${group}` }
  if (key !== null) {
    const { rows } = await pool.query<{ client_id: string; client: string }>(
      `select k.client_id, c.name as client from ${SCHEMA}.keys k join ${SCHEMA}.clients c on c.id = k.client_id
       where k.id = $1`,
      [key],
    )
    const [owner] = rows
    if (owner === undefined)
      return { kind: 'problem', param: 'key', text: `there is no key with the id ${key}` }
    if (owner.client_id !== clientId)
      return { kind: 'problem', param: 'key', text: `key ${key} is of the client ${owner.client}` }
  }
  return {
    kind: 'scope',
    scope: {
      clientId,
      keyId: key,
      model,
      axis: axis ?? null,
      value: value ?? null,
      groupId: inGroup?.id ?? null,
    },
  }
}
