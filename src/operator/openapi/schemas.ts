import { z } from 'zod'
import { BUDGET_PERIODS, LIMIT_KINDS } from '../../limits/limit.ts'
import {
  shownChoice,
  shownCount,
  shownDocument,
  shownFlag,
  shownList,
  shownMoment,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { RECEIPT } from '../../usage/calls/call-operations.ts'
import { GROUP_NAMES, optional, PERIOD_DAYS, shownFigures } from '../../usage/operations/usage.ts'
import { FIGURES } from '../../usage/query/usage-figures.ts'

/** An amount in US dollars: the nearest number, and exactly as text beside it. */
function amount(name: string, description: string): z.ZodRawShape {
  return {
    [name]: z.number().describe(description),
    [`${name}_text`]: shownText('The same to the last of its 12 places, as decimal text.'),
  }
}

/** One of a client's limits: a budget has amounts in US dollars, the others have numbers. */
const CLIENT_LIMIT = shownDocument('ClientLimit', {
  kind: shownChoice(LIMIT_KINDS, 'requests and tokens a minute.'),
  key_id: shownTextOrNull('Only calls with this key, which is the one that asks. null: with any key.'),
  model: shownTextOrNull('Only calls of this model, a name or `prefix*`. null: of all.'),
  raised_until: shownTextOrNull('The limit is raised until then. null: it is not.'),
  ...optional({
    limit: shownCount('Of a rate.'),
    remaining: shownCount('What is left of a rate now.'),
    reset_seconds: z
      .number()
      .meta({ minimum: 0, description: 'Until all of a rate is free, if no call comes.' }),
    per: shownChoice(BUDGET_PERIODS, 'Of a budget, in UTC.'),
    soft: shownFlag('A budget that is only watched.'),
    ...amount('limit_usd', 'Of a budget.'),
    ...amount('spent_usd', 'By calls of its period, as cost_usd counts them, and charged_usd.'),
    ...amount('charged_usd', 'Reserved by calls whose cost is not known.'),
    ...amount('left_usd', 'What is left of a budget.'),
    from: shownMoment('When the period of a budget began.'),
    until: shownTextOrNull('When the period of a budget ends. null: never.'),
  }),
})

const USAGE = shownDocument('Usage', {
  client: shownText('The name of the client that the key belongs to.'),
  period_days: PERIOD_DAYS,
  ...shownFigures(FIGURES),
  data: shownList(
    shownDocument('UsageGroup', { ...optional(GROUP_NAMES), ...shownFigures(FIGURES) }),
    'Only with group_by.',
  ).optional(),
  limits: shownList(CLIENT_LIMIT, 'Only with include=limits.').optional(),
})

const MODEL_LIST = shownDocument('ModelList', {
  object: z.literal('list'),
  data: shownList(
    shownDocument('Model', {
      id: shownText('What calls name it by.'),
      object: z.literal('model'),
      created: z
        .number()
        .meta({
          type: 'integer',
          description: 'Seconds since 1970; only where the source of the list gave it.',
        })
        .optional(),
      owned_by: shownText("The source's value, else the provider."),
    }),
  ),
})

const ALIVE = shownDocument('Alive', { status: z.literal('ok') })

const READINESS = shownDocument('Readiness', {
  status: z.enum(['ready', 'unavailable']),
  degraded: shownList(z.string(), 'What works less well just now.'),
  advice: shownList(z.string(), 'What to do, where the names do not say it.').optional(),
})

/** Answers of health, and of what clients ask for themselves. */
export const OTHER_ANSWERS = z.tuple([USAGE, RECEIPT, MODEL_LIST, ALIVE, READINESS])
