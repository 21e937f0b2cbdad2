import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { inTransaction } from '../../../src/store/connection/postgres.ts'
import { addCalls } from '../../../src/usage/calls/add-calls.ts'
import {
  columnsOf,
  FIELD_COLUMNS,
  fieldsFrom,
  type StoredField,
} from '../../../src/usage/calls/call-columns.ts'
import { addCallDay } from '../../../src/usage/calls/call-partitions.ts'
import { callDocument, findCalls } from '../../../src/usage/calls/find-calls.ts'
import { GOLDEN_RECORDS } from '../../call/codec/golden-records.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'

const STORED: readonly StoredField[] = [...FIELD_COLUMNS.map(({ name }) => name), 'usage', 'units']
let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  const days = new Set(Object.values(GOLDEN_RECORDS).map(({ arrivedAtMs }) => utcDayOf(arrivedAtMs)))
  await inTransaction(ledger.pool, async (session) => {
    for (const day of days) if (day < '9999') await addCallDay(session, day)
  })
})
afterAll(() => ledger.drop())

/** Adds the record under an id of its own. */
async function store(record: CallRecord): Promise<CallRecord> {
  const stored = { ...record, callId: randomUUID() }
  await inTransaction(ledger.pool, (session) => addCalls(session, [stored]))
  return stored
}

/** Postgres takes neither NUL nor half of a character; that records have neither is for the gateway to see to. */
const STORABLE = Object.entries(GOLDEN_RECORDS).map(([name, record]) => {
  const text = JSON.stringify(record).replaceAll('\\u0000', '').replaceAll('\\ud800', '')
  const { arrivedAtMs, ...clean } = JSON.parse(text) as CallRecord
  return [name, { ...clean, arrivedAtMs: Math.min(arrivedAtMs, 1_760_000_000_000) }] as const
})

describe.each(STORABLE)('the record %s', (_name, record) => {
  test('is read from its row as it was, field by field', async () => {
    const stored = await store(record)
    const { rows } = await ledger.pool.query(
      `select ${columnsOf(STORED)} from tallygate.calls where call_id = $1`,
      [stored.callId],
    )
    const expected = Object.fromEntries(STORED.map((field) => [field, stored[field]]))
    expect(fieldsFrom(rows[0] ?? {}, STORED)).toEqual({
      ...expected,
      responseId: stored.responseId ?? stored.answerId ?? null,
    })
  })
})

test('the view of calls has each field from where it stands: the kind, the row, or either', async () => {
  const { rows } = await ledger.pool.query(
    `select regexp_split_to_table(pg_get_viewdef('tallygate.calls'::regclass), '[,;]?\\s*\\n\\s*') as line`,
  )
  const lines = rows.map(({ line }) => line.replace(/^\s*SELECT /, ''))
  for (const { column, place } of FIELD_COLUMNS) {
    if (column === 'trace_id') continue // Its digits alone.
    if (column === 'usage_raw') continue // Made of the kind's shape and the row's digits.
    if (column === 'axes') continue // Made of the kind's shape and the row's values.
    const either = `COALESCE(r.${column}, k.${column}) AS ${column}`
    expect(lines).toContain({ kind: `k.${column}`, row: `r.${column}`, either }[place])
  }
})

test('a call is found by either id, and shown under the names of its columns in a fixed order', async () => {
  const { callId } = await store({
    ...(GOLDEN_RECORDS['with a cost the upstream reported'] as CallRecord),
    clientId: 'client_9',
    answerId: 'chatcmpl-9',
    partlyUnpriced: true,
  })
  const byAnswer = await findCalls(ledger.pool, 'chatcmpl-9')
  expect(await findCalls(ledger.pool, callId)).toEqual(byAnswer)
  expect(JSON.stringify(byAnswer.map(callDocument))).toBe(
    `[{"call_id":"${callId}","response_id":"chatcmpl-9","arrived_at":"2025-10-09T08:53:20.000Z",` +
      '"client":"client_9","key_id":"key_1","upstream":"router","provider":"openrouter",' +
      '"requested_model":"gpt-4o-mini","model":"gpt-4o-mini-2024-07-18","method":"POST",' +
      '"path":"/v1/chat/completions","status":200,"outcome":"complete","usage_source":"reported",' +
      '"service_tier":"default","input_tokens":11,"output_tokens":7,"cost_usd":"0.000007",' +
      '"price_id":"reported","partly_unpriced":true,"unpriced_reason":null,"trace_id":null}]',
  )
})

test('what a call does not have is shown as null', async () => {
  const { callId } = await store(GOLDEN_RECORDS['all absent'] as CallRecord)
  const [found] = await findCalls(ledger.pool, callId)
  expect(found === undefined ? null : callDocument(found)).toEqual({
    call_id: callId,
    response_id: null,
    arrived_at: '2025-10-09T08:53:20.000Z',
    client: 'client_1',
    key_id: 'key_1',
    upstream: 'openai',
    provider: 'openai',
    requested_model: null,
    model: '(none)',
    method: 'POST',
    path: '/v1/chat/completions',
    status: null,
    outcome: 'complete',
    usage_source: 'none',
    service_tier: null,
    input_tokens: null,
    output_tokens: null,
    cost_usd: null,
    price_id: null,
    partly_unpriced: false,
    unpriced_reason: null,
    trace_id: null,
  })
})
