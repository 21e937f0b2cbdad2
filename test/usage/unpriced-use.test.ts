import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_USAGE } from '../../src/call/usage.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import { inTransaction } from '../../src/store/connection/postgres.ts'
import { addCallDay } from '../../src/usage/calls/call-partitions.ts'
import { selectRequestedNames } from '../../src/usage/query/select-usage.ts'
import { selectUnpricedUse } from '../../src/usage/unpriced-use.ts'
import { run } from '../cli/command-line.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from '../rollup/records.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'

const TODAY = utcDayOf(Date.now())
/** A day whose single calls are kept, and one whose are not: within the year that the command line asks for. */
const DAY = addDays(TODAY, -200)
const DAY_WITHOUT_CALLS = addDays(TODAY, -201)
const FROM = addDays(TODAY, -202)
let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  await inTransaction(ledger.pool, (session) => addCallDay(session, DAY))
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  await emptyTables(ledger.pool, ['daily_usage', 'call_rows', 'producers', 'responses_seen'])
})

async function add(...records: CallRecord[]): Promise<void> {
  const producer = newProducer()
  const rollUp = createRollUp({ pool: ledger.pool, callDays: createCallDays(ledger.pool, 3650, quiet) })
  await rollUp(
    'test',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
}

/** A call without a cost. */
function without(reason: string | undefined, changes: Partial<CallRecord> = {}): CallRecord {
  return aRecord({
    arrivedAtMs: Date.parse(`${DAY}T12:00:00Z`),
    model: 'new',
    costPico: null,
    priceId: null,
    unpricedReason: reason,
    ...changes,
  })
}

function silent(reason: string, path: string, changes: Partial<CallRecord> = {}): CallRecord {
  return without(reason, { usageSource: 'none', usage: NO_USAGE, path, ...changes })
}

const shown = async () =>
  (await selectUnpricedUse(ledger.pool, FROM)).map(({ model, method, path, reason, calls, inputTokens }) => ({
    model,
    method,
    path,
    reason,
    calls,
    inputTokens,
  }))

test('calls of unknown models are listed by what they asked for', async () => {
  const unknown = (requestedModel: string | null) =>
    without('no_price', { model: '(unknown)', reportedModel: null, requestedModel })
  await add(unknown('embed-v4'), unknown('embed-v4'), unknown('command-r'), without('no_price'))
  const found = await selectUnpricedUse(ledger.pool, FROM)
  expect(found.map(({ model, requestedModel, calls }) => [model, requestedModel, calls])).toEqual([
    ['(unknown)', 'embed-v4', 2n],
    ['(unknown)', 'command-r', 1n],
    ['new', null, 1n],
  ])
  const scope = { clientId: null, fromDay: DAY, toDay: DAY }
  expect(await selectRequestedNames(ledger.pool, scope)).toEqual([
    { model: 'embed-v4', requests: 2n },
    { model: 'command-r', requests: 1n },
  ])
  expect(await selectRequestedNames(ledger.pool, { ...scope, clientId: 'cli_other' })).toEqual([])
  const env = { DATABASE_URL: ledger.url }
  const { out } = await run(env, 'prices', 'check', '--days', '365')
  expect(out).toMatch(/^embed-v4 \(unknown\) /m)
  const { out: usage } = await run(env, 'usage', '--by', 'model', '--days', '365')
  expect(usage).toContain('(unknown) asked for: embed-v4 (2), command-r (1).')
})

test('without single calls unpriced use is listed by model, with calls and tokens', async () => {
  const day = { arrivedAtMs: Date.parse(`${DAY_WITHOUT_CALLS}T12:00:00Z`) }
  await add(
    without('no_price', day),
    without('no_price', day),
    without('no_price', { ...day, model: 'newer', usage: NO_USAGE }),
    aRecord(day),
    without('no_price', { model: 'old', arrivedAtMs: Date.parse('2026-02-01T12:00:00Z') }),
  )
  const unknown = { method: null, path: null, reason: null }
  expect(await shown()).toEqual([
    { model: 'new', ...unknown, calls: 2n, inputTokens: 200n },
    { model: 'newer', ...unknown, calls: 1n, inputTokens: 0n },
  ])
})

test('with single calls unpriced use is listed by path and reason, ids in paths taken together', async () => {
  await add(
    silent('no_reader', '/v1/videos', { model: '(none)' }),
    silent('no_reader', '/v1/videos', { model: '(none)' }),
    silent('no_reader', '/v1/vector_stores/vs_68f1a2b3c4d5e6f7a8b9c0d1/search', { model: '(none)' }),
    silent('no_reader', '/v1/vector_stores/vs_1234567890abcdef12345678/search', { model: '(none)' }),
    silent('no_reader', '/v1/vector_stores/vs_fedcba09876543211234/search', { model: '(none)' }),
    silent('no_figures', '/v1beta/models/gemini-2.5-pro:generateContent'),
    without('no_price'),
    without(undefined, { usageSource: 'invalid', usage: NO_USAGE }),
  )
  expect(await shown()).toEqual([
    {
      model: '(none)',
      method: 'POST',
      path: '/v1/vector_stores/{id}/search',
      reason: 'no_reader',
      calls: 3n,
      inputTokens: 0n,
    },
    { model: '(none)', method: 'POST', path: '/v1/videos', reason: 'no_reader', calls: 2n, inputTokens: 0n },
    {
      model: 'new',
      method: 'POST',
      path: '/v1/chat/completions',
      reason: 'invalid_usage',
      calls: 1n,
      inputTokens: 0n,
    },
    {
      model: 'new',
      method: 'POST',
      path: '/v1/chat/completions',
      reason: 'no_price',
      calls: 1n,
      inputTokens: 100n,
    },
    {
      model: 'new',
      method: 'POST',
      path: '/v1beta/models/gemini-2.5-pro:generateContent',
      reason: 'no_figures',
      calls: 1n,
      inputTokens: 0n,
    },
  ])
})

test('of a day with more calls than are read all count, without paths and reasons, beside days that are read', async () => {
  const before = { arrivedAtMs: Date.parse(`${DAY_WITHOUT_CALLS}T12:00:00Z`) }
  const calls = (count: number, changes: Partial<CallRecord>) =>
    Array.from({ length: count }, () => silent('no_reader', '/v1/videos', { model: '(none)', ...changes }))
  await add(...calls(2, {}), ...calls(3, before))
  const listed = async (mostCalls: bigint) =>
    (await selectUnpricedUse(ledger.pool, FROM, mostCalls)).map(({ path, reason, calls: of }) => [
      path,
      reason,
      of,
    ])
  expect(await listed(4n)).toEqual([
    [null, null, 3n],
    ['/v1/videos', 'no_reader', 2n],
  ])
  expect(await listed(1n)).toEqual([[null, null, 5n]])
})

test('what was to be billed later is no longer listed once it was fetched', async () => {
  const later = (responseId: string) =>
    silent('billed_later', '/v1/responses', { responseId, responseUse: 'created' })
  const fetch = aRecord({
    arrivedAtMs: Date.parse(`${DAY}T12:00:00Z`),
    method: 'GET',
    path: '/v1/responses/resp_1',
    responseId: 'resp_1',
    responseUse: 'fetched',
  })
  await add(later('resp_1'), later('resp_2'))
  expect(await shown()).toMatchObject([{ reason: 'billed_later', calls: 2n }])
  await add(fetch)
  expect(await shown()).toMatchObject([{ reason: 'billed_later', calls: 1n }])
})

test('calls that a repricing has priced since are taken off those that a price could be for', async () => {
  await add(
    silent('no_reader', '/v1/videos'),
    without('no_price'),
    without('no_price', { path: '/v1/responses' }),
    without('no_price', { path: '/v1/responses' }),
  )
  await ledger.pool.query('update tallygate.daily_usage set priced_later = 2')
  const left = await shown()
  expect(left.reduce((sum, { calls }) => sum + calls, 0n)).toBe(2n)
  expect(left).toContainEqual(expect.objectContaining({ reason: 'no_reader', calls: 1n }))
  expect(left).toContainEqual(expect.objectContaining({ reason: 'no_price', calls: 1n }))
})
