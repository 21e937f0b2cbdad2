import { utcDayOf } from '../../domain/utc-day.ts'
import {
  choiceField,
  clientField,
  flagField,
  lineField,
  modelField,
  textField,
} from '../../operations/fields.ts'
import { operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { invalid, notFound } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { LIMIT_KINDS } from '../limit.ts'
import { renderLimit } from '../limit-document.ts'
import { findLimitById, type NamedLimit, showLimits } from '../shown-limits.ts'
import { removeLimits, setLimits } from '../table/change-limits.ts'
import { raiseLimits, topUpBudget } from '../table/raise-limits.ts'
import { type LimitDocument, SHOWN_LIMIT } from './limit-answers.ts'
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
  SUBJECTS,
  UNTIL,
} from './limit-terms.ts'
import { LIMIT_ID } from './list-limits.ts'

const ID = textField('The id of the limit.', 'id')
const AMOUNT = amountField(
  'US dollars for a budget, as text where they have to be exact; else a whole number.',
)

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
    ...SUBJECTS,
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
    const {
      client,
      key = null,
      model = null,
      axis,
      value,
      group,
      soft: isSoft,
      kind,
      per = null,
      limit,
      ...settings
    } = asked
    const { pool, now } = ports
    const [order] = readOrders(
      [{ kind, per, isSoft, amount: readAmount(kind, 'limit', limit) }],
      settings,
      utcDayOf(now()),
    )
    if (client === null && key !== null) throw invalid('key', 'needs client: a default is for every key')
    const scope = await getScope(pool, { client, key, model, axis, value, group })
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

async function getLimit(pool: Postgres, id: string): Promise<NamedLimit> {
  const found = LIMIT_ID.test(id) ? await findLimitById(pool, id) : null
  if (found === null) throw noLimit(id)
  return found
}

export async function getShown({ pool, now }: Ports, id: string): Promise<LimitDocument> {
  const named = await getLimit(pool, id)
  const nowMs = now()
  const [shown] = await showLimits(pool, [named], null, nowMs)
  if (shown === undefined) throw noLimit(id)
  return renderLimit(shown, nowMs)
}

function noLimit(id: string) {
  return notFound(`There is no limit ${id}.`, undefined, 'limits show lists them')
}
