import { z } from 'zod'
import { periodOf } from '../../domain/period.ts'
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
import { daysField } from '../../operations/fields.ts'
import { FOR_THE_PAGE, operation } from '../../operations/operation.ts'
import type { ClientPorts } from '../../operations/ports.ts'
import { optional } from '../../usage/operations/usage.ts'
import { BUDGET_PERIODS, LIMIT_KINDS } from '../limit.ts'
import { selectRefusedCalls } from '../table/refused-calls.ts'
import { REFUSED_CALLS } from './limit-answers.ts'

export interface OwnLimitPorts extends ClientPorts {
  /** The limits of the client's calls with its key, else with any key. Rejects when Postgres is away. */
  listLimits(): Promise<readonly object[]>
}

/** An amount in US dollars: the nearest number, and exactly as text beside it. */
function amount(name: string, description: string): z.ZodRawShape {
  return {
    [name]: z.number().describe(description),
    [`${name}_text`]: shownText('The same to the last of its 12 places, as decimal text.'),
  }
}

/** One of a client's limits: a budget has amounts in US dollars, the others have numbers. */
export const CLIENT_LIMIT = shownDocument('ClientLimit', {
  kind: shownChoice(LIMIT_KINDS, 'requests and tokens a minute.'),
  key_id: shownTextOrNull('Only calls with this key, which is the one that asks. null: with any key.'),
  model: shownTextOrNull('Only calls of this model, a name or `prefix*`. null: of all.'),
  raised_until: shownTextOrNull('The limit is raised until then. null: it is not.'),
  ...optional({
    group: shownText('All clients of this group, which share it. Left out: of this client alone.'),
    axis: shownText('Only calls with a value of this axis.'),
    value: shownTextOrNull(
      'Only those with this value. null: each value has it, and what each has left is not shown.',
    ),
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

export const ownLimits = operation({
  name: 'own.limits',
  summary: 'Shows the limits of the client, what is left of them, and when they begin again.',
  description: 'With a token of a key: those that hold for calls with this key.',
  role: 'client',
  http: { method: 'GET', path: '/limits', id: 'listOwnLimits' },
  input: {},
  answer: shownList(CLIENT_LIMIT),
  gives: 'The limits.',
  command: FOR_THE_PAGE,
  // They are built as this schema says.
  run: async ({ listLimits }: OwnLimitPorts) =>
    (await listLimits()) as readonly z.output<typeof CLIENT_LIMIT>[],
})

export const ownRefused = operation({
  name: 'own.refused',
  summary: 'Shows calls of the client that were refused, by day and reason. They are in no usage.',
  role: 'client',
  http: { method: 'GET', path: '/refused', id: 'listOwnRefused' },
  input: { days: daysField() },
  answer: shownList(REFUSED_CALLS),
  gives: 'The sums.',
  command: FOR_THE_PAGE,
  async run({ read, client, now }: ClientPorts, { days }) {
    const period = periodOf(days, now())
    const sums = await read((pool) => selectRefusedCalls(pool, period, ['reason', 'day'], client.id))
    return sums.map(({ day, reason, calls }) => ({
      day: day ?? '',
      reason: reason ?? '',
      calls: Number(calls),
    }))
  },
})
