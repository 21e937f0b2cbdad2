import { z } from 'zod'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { findClient } from '../../keys/clients.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownFlag,
  shownList,
  shownMoment,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import {
  clientField,
  countField,
  dayField,
  lineField,
  modelNameField,
  textField,
  usdField,
} from '../../operations/fields.ts'
import { changeOf, operation, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { invalid, noClient, notFound } from '../../operations/refuse.ts'
import { type Adjustment, addCredit, selectAdjustments } from '../adjustments.ts'
import { endRule, type RuleInForce, selectRulesInForce } from '../repricing-rules.ts'

const CREDIT = shownDocument('Credit', {
  id: shownText('The number of the adjustment.'),
  client: shownText('The name of the client.'),
  day: shownDay('The UTC day that it counts for.'),
  model: shownTextOrNull('The model that it is shown under. null: none.'),
  amount_usd: shownText('What was added. Below 0: a credit.'),
  who: shownText('Who did it.'),
  why: shownText('The reason.'),
  before_usd: shownText('The cost of the client on that day before.'),
  after_usd: shownText('The cost of the client on that day now.'),
})

export const addAdjustmentOperation = operation({
  name: 'adjustments.add',
  summary: "Adds an amount to a client's cost. Below 0 is a credit.",
  role: 'admin',
  http: { method: 'POST', path: '/adjustments', id: 'addAdjustment', status: 201, body: 'NewAdjustment' },
  input: {
    client: clientField('The name of the client whose cost it is.'),
    amount_usd: usdField('US dollars, such as -12.50.'),
    reason: lineField('Why it is done.'),
    day: dayField('The UTC day that it counts for. Without it: today.').optional(),
    model: modelNameField('The model that it is shown under.').optional(),
  },
  answer: CREDIT,
  gives: 'The adjustment.',
  errors: ['not_found'],
  changes: changeOf('admin.cost_corrected', 'cost of a client adjusted', 'adjustment'),
  command: {
    words: 'adjustment add',
    print: ({ id, client, day, amount_usd: amount, before_usd: before, after_usd: after }) =>
      `Cost of ${client} on ${day}: ${before} -> ${after} USD (${amount}): adjustment ${id}.`,
  },
  async run({ pool, now }: Ports, { client, amount_usd: pico, reason: why, day: asked, model = null }, who) {
    const today = utcDayOf(now())
    const day = asked ?? today
    if (day > today) throw invalid('day', 'must not be after today')
    const found = await findClient(pool, client)
    if (found === null) throw noClient(client)
    const credited = await addCredit(pool, { clientId: found.id, day, model, pico, who, why })
    return {
      id: credited.adjustmentId,
      client,
      day,
      model,
      amount_usd: picoToUsdText(pico),
      who,
      why,
      before_usd: picoToUsdText(credited.beforePico),
      after_usd: picoToUsdText(credited.afterPico),
    }
  },
})

export const listAdjustmentsOperation = renderedOperation({
  name: 'adjustments.list',
  summary: 'Shows who corrected what, when and why, the newest first.',
  role: 'read',
  http: { method: 'GET', path: '/adjustments', id: 'listAdjustments' },
  input: { limit: countField(99_999, 'At most so many.').default(100) },
  answer: shownList(
    shownDocument('Adjustment', {
      id: shownText('The number of the adjustment.'),
      at: shownMoment('The time of the adjustment.'),
      kind: shownText('credit, reprice or rebuild.'),
      who: shownText('Who did it.'),
      why: shownText('The reason.'),
      scope: z.unknown().describe('What it is about, by its kind.'),
      before_usd: shownText('The cost before.'),
      after_usd: shownText('The cost after.'),
      amount_usd: shownText('What was added in all, later calls included.'),
      rows: shownCount('Rows of totals that it changed.'),
      priced_calls: shownCount('Calls that have a price by it.'),
    }),
  ),
  gives: 'The adjustments.',
  run: ({ pool }: Ports, { limit }) => selectAdjustments(pool, limit),
  render: (adjustments: readonly Adjustment[]) =>
    adjustments.map((adjustment) => ({
      id: adjustment.id,
      at: adjustment.at.toISOString(),
      kind: adjustment.kind,
      who: adjustment.who,
      why: adjustment.why,
      scope: adjustment.scope,
      before_usd: picoToUsdText(adjustment.beforePico),
      after_usd: picoToUsdText(adjustment.afterPico),
      amount_usd: picoToUsdText(adjustment.pico),
      rows: adjustment.rows,
      priced_calls: Number(adjustment.pricedCalls),
    })),
  command: {
    words: 'adjustment list',
    print: {
      empty: 'Nothing was ever corrected.',
      columns: [
        { heading: 'ID', cell: ({ id }) => id },
        { heading: 'AT', cell: ({ at }) => `${at.toISOString().slice(0, 16)}Z` },
        { heading: 'KIND', cell: ({ kind }) => kind },
        { heading: 'WHO', cell: ({ who }) => who },
        { heading: 'ROWS', align: 'right', cell: ({ rows }) => `${rows}` },
        { heading: 'AMOUNT USD', align: 'right', cell: ({ pico }) => picoToUsdText(pico) },
        { heading: 'WHY', cell: ({ why }) => why },
      ],
    },
  },
})

export const listRulesOperation = renderedOperation({
  name: 'prices.rules',
  summary: 'Shows repricings that go on for calls that come in late, the newest first.',
  role: 'read',
  http: { method: 'GET', path: '/prices/rules', id: 'listRepricings' },
  input: {},
  answer: shownList(
    shownDocument('RepricingRule', {
      id: shownText('The number of its adjustment.'),
      model: shownText('The model, or the beginning of names and *.'),
      provider: shownTextOrNull('null: any provider.'),
      since: shownDay('The first UTC day.'),
      made_at: shownMoment('The time at which it was made.'),
      who: shownText('Who made it.'),
      why: shownText('The reason.'),
      catalog: shownText('The price data and its version.'),
      amount_usd: shownText('What it changed in all.'),
    }),
  ),
  gives: 'The repricings.',
  run: ({ pool }: Ports) => selectRulesInForce(pool),
  render: (rules: readonly RuleInForce[]) =>
    rules.map((rule) => ({
      id: rule.adjustmentId,
      model: rule.model,
      provider: rule.provider,
      since: rule.since,
      made_at: rule.madeAt.toISOString(),
      who: rule.who,
      why: rule.why,
      catalog: rule.catalogSource,
      amount_usd: picoToUsdText(rule.pico),
    })),
  command: {
    words: 'prices rules',
    print: {
      empty: 'No repricing goes on.',
      columns: [
        { heading: 'ID', cell: ({ adjustmentId }) => adjustmentId },
        { heading: 'MODEL', cell: ({ model }) => model },
        { heading: 'PROVIDER', cell: ({ provider }) => provider ?? 'any' },
        { heading: 'SINCE', cell: ({ since }) => since },
        { heading: 'MADE', cell: ({ madeAt }) => `${madeAt.toISOString().slice(0, 16)}Z` },
        { heading: 'BY', cell: ({ who }) => who },
        { heading: 'AMOUNT USD', align: 'right', cell: ({ pico }) => picoToUsdText(pico) },
        { heading: 'WHY', cell: ({ why }) => why },
      ],
    },
  },
})

export const endRuleOperation = operation({
  name: 'prices.end-rule',
  summary: 'Lets calls that come in from now on stay as metered. What was corrected stays so.',
  role: 'admin',
  http: { method: 'POST', path: '/prices/rules/{id}/end', id: 'endRepricing' },
  input: { id: textField('The id of the repricing, as prices rules shows it.', 'id') },
  answer: shownDocument('EndedRule', {
    id: shownText('The id of the repricing.'),
    ended: shownFlag('It is ended.'),
  }),
  gives: 'The repricing is ended.',
  errors: ['not_found'],
  changes: changeOf('admin.cost_corrected', 'a repricing ended', 'adjustment'),
  command: { words: 'prices end-rule', print: ({ id }) => `Rule ${id} is ended.` },
  async run({ pool }: Ports, { id }) {
    const ended = /^[1-9][0-9]{0,17}$/.test(id) && (await endRule(pool, id))
    if (!ended) throw notFound(`There is no rule ${id} in force.`, undefined, 'prices rules shows them')
    return { id, ended }
  },
})
