import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import type { ObjectEvent } from '../../src/call/object-event.ts'
import { NO_USAGE } from '../../src/call/usage.ts'
import { pruneObjects } from '../../src/objects/table/objects-table.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { type LedgerDatabase, openLedgerDatabase } from './ledger-database.ts'
import { aCandidate, aRecord, newProducer } from './records.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  await emptyTables(ledger.pool, ['daily_usage', 'call_rows', 'producers', 'responses_seen', 'objects'])
})

const event = (id: string, is: ObjectEvent['is'] = 'created', job = true): ObjectEvent => ({
  id,
  kind: 'batch',
  is,
  job,
})

/** A call that made objects and used nothing. */
const making = (...ids: readonly string[]): CallRecord =>
  aRecord({
    usageSource: 'none',
    usage: NO_USAGE,
    costPico: '0',
    priceId: null,
    path: '/v1/batches',
    objects: ids.map((id) => event(id)),
  })

/** A call of another client that brings the usage of an object. */
const fetching = (responseId: string, changes: Partial<CallRecord> = {}): CallRecord =>
  aRecord({
    clientId: 'cli_b',
    keyId: 'key_b',
    method: 'GET',
    path: `/v1/batches/${responseId}`,
    responseId,
    ...changes,
  })

async function rollUp(...records: readonly CallRecord[]): Promise<void> {
  const producer = newProducer()
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
}

async function totals() {
  const { rows } = await ledger.pool.query(
    `select client_id, key_id, sum(requests)::int as requests, sum(input_tokens)::int as input
     from tallygate.daily_usage group by 1, 2 order by 1, 2`,
  )
  return rows
}

async function objects() {
  const { rows } = await ledger.pool.query(
    `select id, client_id, job, settled_at is not null as settled, deleted_at is not null as deleted
     from tallygate.objects order by id`,
  )
  return rows
}

test('what a call tells of an object is its maker’s, in one batch or a later one, the request its sender’s', async () => {
  await rollUp(making('batch_1'), fetching('batch_1'))
  await rollUp(making('batch_2'))
  await rollUp(fetching('BATCH_2'))
  expect(await totals()).toEqual([
    { client_id: 'cli_a', key_id: 'key_a', requests: 2, input: 200 },
    { client_id: 'cli_b', key_id: 'key_b', requests: 2, input: 0 },
  ])
  expect(await objects()).toMatchObject([
    { id: 'batch_1', settled: true },
    { id: 'batch_2', settled: true },
  ])
})

test('a job that is fetched again is a request of its fetcher, without tokens', async () => {
  await rollUp(making('batch_1'), fetching('batch_1'))
  await rollUp(fetching('batch_1'), fetching('batch_1', { clientId: 'cli_c' }))
  expect(await totals()).toEqual([
    { client_id: 'cli_a', key_id: 'key_a', requests: 1, input: 100 },
    { client_id: 'cli_b', key_id: 'key_b', requests: 2, input: 0 },
    { client_id: 'cli_c', key_id: 'key_b', requests: 1, input: 0 },
  ])
})

test('what no client of ours made is the fetcher’s', async () => {
  await rollUp(fetching('batch_9'))
  expect(await totals()).toEqual([{ client_id: 'cli_b', key_id: 'key_b', requests: 1, input: 100 }])
})

test('a response made under the id of another client’s object is its own maker’s', async () => {
  await rollUp(making('batch_1'))
  await rollUp(fetching('batch_1', { method: 'POST', path: '/v1/responses', responseUse: 'created' }))
  expect(await totals()).toMatchObject([
    { client_id: 'cli_a', input: 0 },
    { client_id: 'cli_b', input: 100 },
  ])
  expect(await objects()).toMatchObject([{ settled: false }])
})

test('the same id at another upstream is another object', async () => {
  await rollUp(making('batch_1'))
  await rollUp(fetching('batch_1', { upstream: 'elsewhere' }))
  expect(await totals()).toMatchObject([{ client_id: 'cli_a' }, { client_id: 'cli_b', input: 100 }])
})

test('what stands in calls is what is totalled, and who fetched is written beside', async () => {
  await rollUp(making('batch_1'), fetching('batch_1'))
  const { rows } = await ledger.pool.query(
    `select client_id, key_id, fetched_by_client_id, fetched_by_key_id, input_tokens::int as input,
       told_by is not null as told
     from tallygate.calls order by method, told`,
  )
  const noFetcher = { fetched_by_client_id: null, fetched_by_key_id: null }
  expect(rows).toEqual([
    { client_id: 'cli_b', key_id: 'key_b', ...noFetcher, input: null, told: false },
    {
      client_id: 'cli_a',
      key_id: 'key_a',
      fetched_by_client_id: 'cli_b',
      fetched_by_key_id: 'key_b',
      input: 100,
      told: true,
    },
    { client_id: 'cli_a', key_id: 'key_a', ...noFetcher, input: null, told: false },
  ])
})

test('the client that made an object first keeps it', async () => {
  await rollUp(making('batch_1'))
  await rollUp({ ...making('BATCH_1'), clientId: 'cli_b', keyId: 'key_b' })
  expect(await objects()).toMatchObject([{ id: 'batch_1', client_id: 'cli_a' }])
})

test('a job that was seen to have ended, or is deleted, waits no more', async () => {
  await rollUp(making('batch_1', 'batch_2', 'batch_3'))
  await rollUp({ ...making(), objects: [event('batch_1', 'ended'), event('batch_2', 'deleted')] })
  expect(await objects()).toMatchObject([
    { id: 'batch_1', settled: true, deleted: false },
    { id: 'batch_2', settled: false, deleted: true },
    { id: 'batch_3', settled: false, deleted: false },
  ])
})

test('a job whose fetch was counted before its making waits for nothing more', async () => {
  await rollUp(fetching('batch_1', { clientId: 'cli_a', keyId: 'key_a' }))
  await rollUp(making('batch_1'))
  expect(await objects()).toMatchObject([{ id: 'batch_1', settled: true }])
  await rollUp(fetching('batch_1', { clientId: '(gateway)', keyId: '(gateway)' }))
  expect(await objects()).toMatchObject([{ id: 'batch_1', settled: true }])
  expect(await totals()).toMatchObject([{ client_id: '(gateway)', input: 0 }, { input: 100 }])
})

test('a job is settled and deleted though a worker postpones its next fetch meanwhile', async () => {
  await rollUp(making('batch_1'))
  const session = await ledger.pool.connect()
  try {
    await session.query('begin')
    await session.query('update tallygate.objects set fetch_after = now()')
    const rolledUp = rollUp(fetching('batch_1'), { ...making(), objects: [event('batch_1', 'deleted')] })
    await expect
      .poll(async () => {
        const { rows } = await ledger.pool.query(
          `select count(*)::int as waiting from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows[0]?.waiting
      })
      .toBe(1)
    await session.query('commit')
    await rolledUp
  } finally {
    session.release()
  }
  expect(await objects()).toMatchObject([{ id: 'batch_1', settled: true, deleted: true }])
})

test('roll-ups side by side that make, fetch and delete the same objects in any order all come through', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `batch_${index}`)
  const shard = async (name: string, order: readonly string[]) => {
    const producer = newProducer()
    const records = [
      making(...order),
      ...order.map((id) => fetching(id)),
      { ...making(), objects: order.map((id) => event(id, 'deleted')) },
    ]
    const batch = records.map((record, index) => aCandidate(producer, index + 1, record))
    await ledger.rollUp(name, batch)
  }
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([
      shard(`s1-${round}`, ids),
      shard(`s2-${round}`, ids.toReversed()),
      shard(`s3-${round}`, [...ids.slice(20), ...ids.slice(0, 20)]),
    ])
  }
  const [total] = (
    await ledger.pool.query(
      'select sum(requests)::int as requests, sum(input_tokens)::int as input from tallygate.daily_usage',
    )
  ).rows
  expect(total).toEqual({ requests: 15 * 42, input: 40 * 100 })
  expect(await objects()).toHaveLength(40)
})

test('responses are pruned with the time after which none can be fetched, files are kept until deleted', async () => {
  await rollUp({
    ...making(),
    objects: [
      { id: 'resp_old', kind: 'response', is: 'created', job: false },
      { id: 'resp_new', kind: 'response', is: 'created', job: false },
      { id: 'file-old', kind: 'file', is: 'created', job: false },
      { id: 'file-gone', kind: 'file', is: 'created', job: false },
    ],
  })
  await ledger.pool.query(
    `update tallygate.objects set created_at = now() - interval '50 days' where id <> 'resp_new'`,
  )
  await ledger.pool.query(
    `update tallygate.objects set deleted_at = now() - interval '50 days' where id = 'file-gone'`,
  )
  const session = await ledger.pool.connect()
  try {
    expect(await pruneObjects(session, 40)).toBe(2)
  } finally {
    session.release()
  }
  expect((await objects()).map(({ id }) => id)).toEqual(['file-old', 'resp_new'])
})
