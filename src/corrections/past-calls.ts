import type { PastCall } from '../pricing/repricing/repricing.ts'
import type { RepricingScope } from '../pricing/repricing/repricing-scope.ts'
import { queryLong } from '../store/connection/long-query.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { columnsOf, fieldsFrom, type StoredField } from '../usage/calls/call-columns.ts'
import { type DayPart, inPart, partParameters } from '../usage/calls/day-parts.ts'
import { type CallKeyRow, type DailyKey, KEY_COLUMNS, keyFrom } from '../usage/daily-key.ts'
import { scopeCondition } from './reprice-rows.ts'

/** A call as kept, and the row it was totalled in. */
export interface KeptCall extends Omit<PastCall, 'clientName'> {
  readonly key: DailyKey
}

/** Calls read at a time: some ten megabytes at most. */
const PAGE = 5_000

const FIELDS = [
  'arrivedAtMs',
  'upstream',
  'provider',
  'requestedModel',
  'reportedModel',
  'usageSource',
  'usage',
  'units',
  'usageRaw',
  'priceId',
] as const satisfies readonly StoredField[]

type SqlRow = CallKeyRow & {
  readonly call_id: string
  readonly cost_pico: string | null
  readonly unpriced_reason: string | null
  readonly told_by: string | null
}

const COLUMNS = [
  ...new Set([
    'call_id',
    ...KEY_COLUMNS,
    ...columnsOf(FIELDS).split(', '),
    'cost_pico',
    'unpriced_reason',
    'told_by',
  ]),
]

/** The calls of a part of a day that are in the scope, a page at a time. */
export async function* readKeptCalls(
  session: PostgresSession,
  scope: RepricingScope,
  part: DayPart,
): AsyncGenerator<KeptCall[]> {
  const { sql, parameters } = scopeCondition(scope, 4)
  const next = parameters.length + 4
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const { rows } = await queryLong<SqlRow>(
      session,
      `select ${COLUMNS.join(', ')}
       from ${SCHEMA}.calls c where ${inPart('c')} and ${sql} and call_id > $${next}
       order by call_id limit ${PAGE}`,
      [...partParameters(part), ...parameters, after],
    )
    if (rows.length > 0) yield rows.map(keptCallFrom)
    if (rows.length < PAGE) return
    after = rows.at(-1)?.call_id ?? after
  }
}

function keptCallFrom(row: SqlRow): KeptCall {
  return {
    key: keyFrom(row),
    ...fieldsFrom(row, FIELDS),
    costPico: row.cost_pico === null ? null : BigInt(row.cost_pico),
    unpricedReason: row.unpriced_reason,
    isSettlement: row.told_by !== null,
  }
}
