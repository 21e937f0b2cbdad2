import { count, countOrNull, list, nullableText, object, text, time, timeOrNull } from './schema-parts.ts'

/** A gateway or worker, as it last said of itself. */
export const PROCESS_SCHEMA = object({
  process: text('host:pid.'),
  kind: { enum: ['gateway', 'worker'] },
  said_at: time('When it last said this.'),
  silent_ms: count('Since then.'),
  clock_offset_ms: {
    type: ['number', 'null'],
    description: "How far Postgres's clock is ahead; null: not known.",
  },
  started_at: timeOrNull('null: it is of another release, and so is all that follows.'),
  version: nullableText('Its release.'),
  admin_address: nullableText("Of the operator's listener; null: it has none."),
  configuration: nullableText('A hash of what gateways have alike.'),
  prices: nullableText('A hash of what it prices by.'),
  open_calls: countOrNull('Calls under way.'),
  journal_writable: { type: ['boolean', 'null'], description: 'Whether the disk takes what is written.' },
  disk_bytes: countOrNull('Size of the disk of the journal.'),
  disk_free_bytes: countOrNull('What is free of it.'),
  certificate_ends_at: timeOrNull('The end of the certificate for clients; null: plain HTTP.'),
  shards: list(text('A stream that it writes to, or counts.')),
  upstreams: list(
    object({
      upstream: text('Its name in the configuration.'),
      calls: count('Of the last five minutes.'),
      failures: {
        type: 'object',
        additionalProperties: count('Calls that failed.'),
        description: 'By cause: dns, connect_refused, credential_refused, rate_limited, server_error, ....',
      },
      failed_in_a_row: count('Since the last call that succeeded.'),
      refuses_credential: { type: 'boolean', description: "It refuses the gateway's key." },
    }),
  ),
})
