import { ALERT_SCHEMAS } from './alert-schemas.ts'
import { PRICE_SCHEMAS } from './price-schemas.ts'
import { ERROR_SCHEMAS } from './responses.ts'
import { count, countOrNull, list, object, ref, text, time, timeOrNull } from './schema-parts.ts'
import type { Schema } from './types.ts'
import { USAGE_SCHEMAS } from './usage-schemas.ts'

const NAME: Schema = text('1 to 128 characters that can be seen, without spaces around them.', {
  minLength: 1,
  maxLength: 128,
})
const DURATION = text('A whole number and s, m, h, d or w.', {
  pattern: '^(0|[0-9]{1,9}[smhdw])$',
  examples: ['90d', '24h', '15m'],
})

const KEY: Readonly<Record<string, Schema>> = {
  id: text('Begins with key_.'),
  client: text('The name of its client.'),
  name: text('Its label.'),
  prefix: text('The beginning of the key, to tell it by.'),
}
const EXPIRES_AT = timeOrNull('null: never.')

/** Everything that bodies are made of. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  ...USAGE_SCHEMAS,
  ...PRICE_SCHEMAS,
  ...ALERT_SCHEMAS,

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

  Client: object({
    id: text('Begins with cli_.'),
    name: NAME,
    disabled: { type: 'boolean', description: 'All of its keys are refused.' },
    created_at: time('When it was made.'),
  }),
  NewClient: object({ name: NAME }),
  Key: object({
    ...KEY,
    expires_at: EXPIRES_AT,
    revoked_at: timeOrNull('null: it is not revoked.'),
    last_used_at: timeOrNull('To the minute; null: never.'),
  }),
  NewKey: object(
    {
      client: text('The name of the client it is for.'),
      name: { ...NAME, default: 'default' },
      expires_in: { ...DURATION, description: 'How long it lasts; without it, for ever.' },
      models: {
        type: 'array',
        items: text('A name, or a beginning of names followed by *.'),
        minItems: 1,
        description: 'What it may use; without it, every model.',
      },
    },
    ['name', 'expires_in', 'models'],
  ),
  MadeKey: object({
    ...KEY,
    key: text('The key itself: this is the only time it is shown.'),
    expires_at: EXPIRES_AT,
  }),
  Rotation: object(
    { overlap: { ...DURATION, description: 'How long the old key goes on.', default: '24h' } },
    ['overlap'],
  ),

  Ledger: object({
    streams: list(
      object({
        name: text('A Redis key on which records wait.'),
        waiting: countOrNull('Records that wait to be rolled up; null: Redis does not answer.'),
        oldest_ms: countOrNull('How long the oldest of them has waited.'),
      }),
    ),
    producer_count: count('Runs of gateways that were ever counted.'),
    producers: { ...list(ref('Producer')), description: 'Those that moved last.' },
    journals_not_counted_from: {
      ...list({ type: 'string' }),
      description: 'Producers with a journal on this machine of which nothing is counted yet.',
    },
    corrupt_journals: count('Journals on this machine that could not be read whole.'),
    gaps: count('Gaps in the sequences of producers.'),
    missing_records: count('Records in all those gaps together.'),
    dead_letters: count('Records that could not be counted.'),
    gateway: object({
      uncommitted_records: count('Records in its journals that are not in Postgres yet.'),
      uncommitted_bytes: count('Their size.'),
      oldest_uncommitted_ms: count('How long the oldest of them has waited.'),
      open_calls: count('Calls under way.'),
      adopted: count('Journals of dead processes that it has adopted.'),
      corrupt: count('Journals that could not be read whole.'),
      writable: { type: 'boolean', description: 'false: new calls are refused.' },
    }),
  }),
  LedgerGap: object({
    producer: text('The run of a gateway that they are missing from.'),
    from: count('The first missing record.'),
    to: count('The last missing record.'),
    records: count('How many they are.'),
    reason: text('What the producer or the worker said.'),
    recorded_at: time('When it was found.'),
  }),
  Producer: object({
    producer: text('32 hex digits.'),
    stream: text('Where its records go.'),
    mark: count('Every record with a sequence at or under it is counted.'),
    moved_at: time('When the committed offset last moved.'),
    journal_bytes: countOrNull('Size of its journal; null: it is not on this machine.'),
  }),

  Examination: object({
    ok: { type: 'boolean', description: 'Nothing is wrong.' },
    node: text('The version of Node.'),
    checks: list(ref('Finding')),
  }),
  Finding: object({
    name: text('What was looked at.'),
    state: { enum: ['ok', 'note', 'wrong'] },
    detail: text('What was found.'),
    mend: { type: ['string', 'null'], description: 'What to do about it.' },
  }),
}
