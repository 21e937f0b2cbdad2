import { z } from 'zod'
import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import { shownList } from '../../operations/answers.ts'
import { flagField, lineField, modelField, textField } from '../../operations/fields.ts'
import { operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { invalid, notFound } from '../../operations/refuse.ts'
import type { BudgetPeriod, LimitKind } from '../limit.ts'
import { renderLimit } from '../limit-document.ts'
import { selectDefaultLimits, selectGroupLimits, selectLimitsOf, showLimits } from '../shown-limits.ts'
import type { LimitScope, WrittenScope } from '../subject.ts'
import { type FilteredSort, type LimitOrder, removeLimits, setLimits } from '../table/change-limits.ts'
import { raiseLimits, topUpBudget } from '../table/raise-limits.ts'
import { LIMIT_LISTING, type LimitDocument, SHOWN_LIMIT } from './limit-answers.ts'
import {
  amountField,
  getScope,
  type LimitSettings,
  PER,
  paymentField,
  readAmount,
  readOrders,
  readUntil,
  requireRaised,
  requireToppedUp,
  SETTINGS,
  SUBJECTS,
  UNTIL,
} from './limit-terms.ts'
import { changed } from './limits.ts'

/**
 * The commands that name limits by what they are about, and several at once. Over HTTP each limit has its own id: one
 * request changes one limit.
 */

export const SCOPE = {
  client: textField('The client.', 'name').optional(),
  default: flagField('All clients that have none of their own like it.').optional(),
  key: textField('Only calls with this key of the client.', 'id').optional(),
  model: modelField('Only calls of this model, or of those that begin so: gpt-4o, claude-*.').optional(),
  ...SUBJECTS,
}

export const AMOUNTS = {
  budget: amountField('US dollars, such as 12.50.', 'usd').optional(),
  per: PER.optional(),
  soft: flagField('A budget that alerts and refuses nothing.').optional(),
  rpm: amountField('Requests a minute.').optional(),
  tpm: amountField('Tokens a minute, prompt and answer.').optional(),
  concurrent: amountField('Calls at once.').optional(),
}

const ANSWER = shownList(SHOWN_LIMIT)
const GIVES = 'The limits of the client as they stand.'

/** The kind of limit that an option sets. */
const KINDS = { budget: 'budget', rpm: 'requests', tpm: 'tokens', concurrent: 'concurrent' } as const

export const setSeveral = operation({
  name: 'limits.set-several',
  summary: 'Limits calls. A limit like it is replaced.',
  role: 'write',
  http: { none: ['limits.set', 'limits.change'] },
  input: { ...SCOPE, ...AMOUNTS, ...SETTINGS },
  check: checkScope,
  answer: ANSWER,
  gives: GIVES,
  errors: ['not_found'],
  changes: changed('limits set'),
  command: { words: 'limits set', print: LIMIT_LISTING },
  async run(ports: Ports, asked, who) {
    const orders = readOrders(readSorts(asked), asked, utcDayOf(ports.now()))
    const scope = await scopeOf(ports, asked)
    await setLimits(ports.pool, scope, orders, who)
    return await showStanding(ports, scope)
  },
})

export const raiseSeveral = operation({
  name: 'limits.raise-several',
  summary: 'Allows more until a time. Then the limit holds as before.',
  role: 'write',
  http: { none: ['limits.raise'] },
  input: { ...SCOPE, ...AMOUNTS, until: UNTIL },
  check: checkScope,
  answer: ANSWER,
  gives: GIVES,
  errors: ['not_found', 'conflict'],
  changes: changed('limits raised'),
  command: { words: 'limits raise', print: LIMIT_LISTING },
  async run(ports: Ports, asked, who) {
    const orders = readOrders(readSorts(asked), {}, '')
    const untilMs = readUntil(asked.until, ports.now())
    const scope = await scopeOf(ports, asked)
    const raised = await raiseLimits(ports.pool, scope, orders, untilMs, who)
    requireRaised(raised, raised.kind === 'not_above' ? optionOf(raised.limit.kind) : '')
    return await showStanding(ports, scope)
  },
})

export const topUpScope = operation({
  name: 'limits.top-up-scope',
  summary: 'Adds to a budget in total, for good.',
  role: 'write',
  http: { none: ['limits.top-up'] },
  input: {
    ...SCOPE,
    add: paymentField(),
    soft: flagField('The soft budget.').optional(),
    reference: lineField('The name of the payment, which counts once, however often it is sent.').optional(),
  },
  check: checkScope,
  answer: ANSWER,
  gives: GIVES,
  errors: ['not_found', 'conflict'],
  changes: changed('limits topped up'),
  command: { words: 'limits top-up', print: LIMIT_LISTING },
  async run(ports: Ports, asked, who) {
    const { add: pico, soft: isSoft = false, reference = null } = asked
    const scope = await scopeOf(ports, asked)
    const done = await topUpBudget(ports.pool, scope, { isSoft, pico, reference }, who)
    requireToppedUp(done, 'add')
    if (done.kind === 'repeated')
      ports.remark(`the payment ${reference} was added before, so nothing changes`)
    return await showStanding(ports, scope)
  },
})

export const removeSeveral = operation({
  name: 'limits.remove-several',
  summary: 'Lifts limits: those with these ids, or all of a client that the options name.',
  role: 'write',
  http: { none: ['limits.remove'] },
  input: {
    ids: z
      .array(z.string().regex(/^[1-9][0-9]{0,17}$/, 'must be a number that limits show shows'))
      .describe('The ids that limits show shows.')
      .optional(),
    ...SCOPE,
    budget: flagField('Budgets.').optional(),
    per: PER.optional(),
    soft: flagField('Only soft budgets.').optional(),
    rpm: flagField('Limits of requests a minute.').optional(),
    tpm: flagField('Limits of tokens a minute.').optional(),
    concurrent: flagField('Limits of calls at once.').optional(),
  },
  check({ ids = [], ...named }) {
    if (ids.length === 0) checkScope(named)
    else if (Object.values(named).some((value) => value !== undefined))
      throw invalid('ids', 'does not go with options: write ids or options')
  },
  answer: ANSWER,
  gives: GIVES,
  errors: ['not_found'],
  changes: changed('limits removed'),
  command: {
    words: 'limits remove',
    options: { ids: '[ids...]' },
    print: LIMIT_LISTING,
  },
  async run(ports: Ports, { ids = [], ...named }, who) {
    const scope = ids.length === 0 ? await scopeOf(ports, named) : null
    const sorts = filteredSorts(named)
    const filter =
      scope === null
        ? { ids }
        : {
            clientId: scope.clientId,
            keyId: scope.keyId ?? undefined,
            model: scope.model ?? undefined,
            axis: scope.axis ?? undefined,
            value: scope.value ?? undefined,
            // A default is of no group.
            groupId: scope.clientId === null ? scope.groupId : undefined,
            sorts: sorts.length === 0 ? undefined : sorts,
          }
    const removed = await removeLimits(ports.pool, filter, who)
    if (removed.length === 0)
      throw notFound('There is no such limit to remove.', undefined, 'limits show lists them')
    return await showStanding(ports, removed[0] ?? { clientId: null })
  },
})

interface NamedScope {
  readonly client?: string | undefined
  readonly default?: boolean | undefined
  readonly key?: string | undefined
  readonly model?: string | undefined
  readonly axis?: string | undefined
  readonly value?: string | undefined
  readonly group?: string | undefined
}

/** A change says whose limits it means. */
export function checkScope({ client, default: isDefault, key, group }: NamedScope): void {
  if (client === undefined && isDefault !== true && group === undefined)
    throw invalid('client', 'is missing: name a client or group, or say --default for all clients')
  if (group !== undefined && isDefault === true) throw invalid('default', 'does not go with group')
  if (client !== undefined && isDefault === true) throw invalid('default', 'does not go with client')
  if (key !== undefined && isDefault === true)
    throw invalid('key', 'needs client: a default is for every key')
}

export function scopeOf(
  { pool }: Ports,
  { client, key, model, axis, value, group }: NamedScope,
): Promise<LimitScope> {
  return getScope(pool, {
    client: client ?? null,
    key: key ?? null,
    model: model ?? null,
    axis,
    value,
    group,
  })
}

interface Amounts extends Readonly<Partial<Record<keyof typeof KINDS, string | number | undefined>>> {
  readonly per?: BudgetPeriod | undefined
  readonly soft?: boolean | undefined
}

/** The limits that the options name, each with its amount. */
export function readSorts(asked: Amounts) {
  const { per, soft } = asked
  if (asked.budget === undefined && per !== undefined) throw invalid('per', 'needs budget')
  if (asked.budget === undefined && soft === true) throw invalid('soft', 'needs budget')
  const options = Object.keys(KINDS) as (keyof typeof KINDS)[]
  const sorts = options.flatMap((option) => {
    const sent = asked[option]
    if (sent === undefined) return []
    const kind = KINDS[option]
    const isBudget = kind === 'budget'
    const amount = readAmount(kind, option, sent)
    return [{ kind, per: isBudget ? (per ?? null) : null, isSoft: isBudget && soft === true, amount }]
  })
  if (sorts.length === 0)
    throw invalid('budget', 'is missing: name a budget, or --rpm, --tpm or --concurrent')
  return sorts
}

/** The order for the limit that the options name. @throws {GatewayError} When they name several. */
export function readOneOrder(asked: Amounts & LimitSettings, today: UtcDay, why: string): LimitOrder {
  const [order, ...others] = readOrders(readSorts(asked), asked, today)
  if (order === undefined || others.length > 0) throw invalid('budget', `must be the only limit: ${why}`)
  return order
}

function filteredSorts(
  named: {
    readonly [Name in keyof typeof KINDS | 'soft']?: boolean | undefined
  } & { readonly per?: BudgetPeriod | undefined },
): readonly FilteredSort[] {
  const { per, soft } = named
  const isBudget = named.budget === true || per !== undefined || soft === true
  const rates = (['rpm', 'tpm', 'concurrent'] as const).filter((option) => named[option] === true)
  return [
    ...(isBudget ? [{ kind: 'budget', per, isSoft: soft } as const] : []),
    ...rates.map((option) => ({ kind: KINDS[option] })),
  ]
}

export function optionOf(kind: LimitKind): string {
  return Object.entries(KINDS).find(([, of]) => of === kind)?.[0] ?? kind
}

/** The limits that hold for a client, those of a group, or the defaults, with what was spent of budgets. */
async function showStanding(
  { pool, now }: Ports,
  { clientId, groupId = null }: WrittenScope,
): Promise<LimitDocument[]> {
  const nowMs = now()
  const named =
    groupId !== null
      ? await selectGroupLimits(pool, groupId)
      : clientId === null
        ? await selectDefaultLimits(pool)
        : await selectLimitsOf(pool, clientId)
  return (await showLimits(pool, named, clientId, nowMs)).map((shown) => renderLimit(shown, nowMs))
}
