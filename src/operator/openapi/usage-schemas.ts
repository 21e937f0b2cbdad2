import { countsBy } from '../../call/usage.ts'
import { GROUP_FIELDS } from '../../usage/query/answer-usage.ts'
import { FIGURES, type FigureText } from '../../usage/query/usage-figures.ts'
import { count, list, nullableText, object, ref, text, time } from './schema-parts.ts'
import type { Schema } from './types.ts'

function schemasOf<Name extends string>(figures: Readonly<Record<Name, FigureText>>): Record<Name, Schema> {
  return countsBy(Object.keys(figures) as Name[], (name) => {
    const { type, minimum, description } = figures[name]
    return { type, ...(minimum === undefined ? {} : { minimum }), description }
  })
}

const FIGURE_SCHEMAS = schemasOf(FIGURES)

/** The fields that name groups, as schemas by their names. */
const GROUP_SCHEMAS: Readonly<Record<string, Schema>> = Object.fromEntries(
  GROUP_FIELDS.map(({ name, description, isDay, isNullable }) => [
    name,
    isNullable ? nullableText(description) : text(description, isDay ? { format: 'date' } : {}),
  ]),
)
const PERIOD_DAYS: Schema = {
  type: 'integer',
  minimum: 1,
  maximum: 365,
  description: 'UTC days, today included.',
}

/** One of a client's limits: a budget has amounts in US dollars, the others have numbers. */
const CLIENT_LIMIT = object(
  {
    kind: {
      enum: ['budget', 'requests', 'tokens', 'concurrent'],
      description: 'requests and tokens a minute.',
    },
    key_id: nullableText('Only calls with this key, which is the one that asks; null: with any key.'),
    model: nullableText('Only calls of this model, a name or `prefix*`; null: of all.'),
    raised_until: nullableText('The limit is raised until then; null: it is not.'),
    limit: count('Of a rate.'),
    remaining: count('What is left of a rate now.'),
    reset_seconds: {
      type: 'number',
      minimum: 0,
      description: 'Until all of a rate is free, if no call comes.',
    },
    per: { enum: ['day', 'week', 'month', 'total'], description: 'Of a budget, in UTC.' },
    soft: { type: 'boolean', description: 'A budget that is only watched.' },
    limit_usd: { type: 'number', description: 'Of a budget.' },
    spent_usd: {
      type: 'number',
      description: 'By calls of its period, as cost_usd counts them, and charged_usd.',
    },
    charged_usd: { type: 'number', description: 'Reserved by calls whose cost is not known.' },
    left_usd: { type: 'number', minimum: 0, description: 'What is left of a budget.' },
    from: time('When the period of a budget began.'),
    until: nullableText('When the period of a budget ends; null: never.'),
  },
  [
    ...[
      'limit',
      'remaining',
      'reset_seconds',
      'per',
      'soft',
      'limit_usd',
      'spent_usd',
      'charged_usd',
      'left_usd',
    ],
    ...['from', 'until'],
  ],
)

/** The schemas of usage. */
export const USAGE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Usage: object(
    {
      client: text('The name of the client that the key belongs to.'),
      period_days: PERIOD_DAYS,
      ...FIGURE_SCHEMAS,
      data: { ...list(ref('UsageGroup')), description: 'Only with group_by.' },
      limits: { ...list(ref('ClientLimit')), description: 'Only with include=limits.' },
    },
    ['data', 'limits'],
  ),
  ClientLimit: CLIENT_LIMIT,
  UsageGroup: object({ ...GROUP_SCHEMAS, ...FIGURE_SCHEMAS }, Object.keys(GROUP_SCHEMAS)),
}
