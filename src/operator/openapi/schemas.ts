import { PRICE_SCHEMAS } from './price-schemas.ts'
import { ERROR_SCHEMAS } from './responses.ts'
import { list, object, ref, text } from './schema-parts.ts'
import type { Schema } from './types.ts'
import { USAGE_SCHEMAS } from './usage-schemas.ts'

/** Everything that bodies are made of. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  ...USAGE_SCHEMAS,
  ...PRICE_SCHEMAS,

  ...ERROR_SCHEMAS,

  Model: object(
    {
      id: text('What calls name it by.'),
      object: { const: 'model' },
      created: {
        type: 'integer',
        description: 'Seconds since 1970; only where the source of the list gave it.',
      },
      owned_by: text("The source's value, else the provider."),
    },
    ['created'],
  ),
  ModelList: object({ object: { const: 'list' }, data: list(ref('Model')) }),

  Alive: object({ status: { const: 'ok' } }),
  Readiness: object(
    {
      status: { enum: ['ready', 'unavailable'] },
      degraded: { ...list({ type: 'string' }), description: 'What works less well just now.' },
      advice: { ...list({ type: 'string' }), description: 'What to do, where the names do not say it.' },
    },
    ['advice'],
  ),
}
