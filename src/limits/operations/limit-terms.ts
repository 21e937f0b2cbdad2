import { z } from 'zod'
import { AXIS_NAME, NO_VALUE } from '../../call/axes.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { choiceField, dayField, formField, lineField, textField, usdField } from '../../operations/fields.ts'
import type { InputOf } from '../../operations/operation.ts'
import { VALUE } from '../../operations/read-input.ts'
import { conflict, invalid, notFound } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { findScope, type NamedScope } from '../find-scope.ts'
import { BUDGET_PERIODS, type LimitKind, WHEN_ALONE } from '../limit.ts'
import {
  AMOUNT_FORM,
  describeAmounts,
  describeSort,
  MOST_OF_ALL,
  parseAmount,
  renderAmount,
} from '../limit-document.ts'
import { parseRaiseEnd, RAISE_END, RAISE_END_FORMS } from '../raise-end.ts'
import type { LimitScope } from '../subject.ts'
import type { LimitOrder, LimitSort } from '../table/change-limits.ts'
import type { Raised, ToppedUp } from '../table/raise-limits.ts'

/** Rules of what a limit may say, for the operations over HTTP and the commands alike. */

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
