import { createHmac } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { BUNDLED } from '#prices/bundled-lists.ts'
import { checkAlerts } from '../../src/alerts/conditions.ts'
import { deliver } from '../../src/alerts/deliver-due.ts'
import { pruneAlerts, selectDueDeliveries } from '../../src/alerts/deliveries.ts'
import { testReceiver } from '../../src/alerts/operations.ts'
import { type KnownOccurrence, raiseAlerts } from '../../src/alerts/raise-alerts.ts'
import type { ReceiverOrder } from '../../src/alerts/receiver-order.ts'
import { addReceiver, removeReceiver, selectReceivers } from '../../src/alerts/receivers.ts'
import { findPriceTroubles } from '../../src/pricing/conditions/price-data.ts'
import { putPriceDoubts } from '../../src/pricing/refresh/price-doubts.ts'
import { recordPriceRefresh } from '../../src/pricing/refresh/price-refreshes.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { createTestDatabase, openTestPool, type TestDatabase } from '../support/servers/database.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { startReceiver, status, type TestReceiver } from './receiver.ts'

let database: TestDatabase
let pool: Postgres
let receiver: TestReceiver

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openTestPool(database.url, { max: 4 })
  await pool.query(`insert into tallygate.clients (id, name, version) values ('cli_1', 'acme', 1)`)
})
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(async () => {
  await receiver.stop()
  await emptyTables(pool, [
    'alerts',
    'alert_deliveries',
    'alert_receivers',
    'alert_receiver_changes',
    'price_doubts',
    'price_refreshes',
  ])
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const order = (changes: Partial<ReceiverOrder> = {}): ReceiverOrder => ({
  url: receiver.url,
  kinds: ['gap', 'budget'],
  format: 'generic',
  thresholds: [50, 80, 100],
  client: null,
  secret: null,
  ...changes,
})

async function add(changes: Partial<ReceiverOrder> = {}) {
  const added = await addReceiver(pool, order(changes), 'somebody')
  if (added === null) throw new Error('there is no such client')
  return added
}

const gap = (subject = 'p1', changes: Partial<KnownOccurrence> = {}): KnownOccurrence => ({
  kind: 'gap',
  subject,
  period: '2026-01-31',
  payload: { message: `records of ${subject} are missing`, records: 3 },
  ...changes,
})

/** As if the pauses of all that wait were over. */
async function passPauses(): Promise<void> {
  await pool.query(`update tallygate.alert_deliveries set next_at = now() where state = 'waiting'`)
}

async function raiseOne(occurrence = gap()): Promise<string> {
  const [id = '', ...others] = await raiseAlerts(pool, [occurrence])
  expect(others).toEqual([])
  return id
}

test('an alert is posted as JSON, signed over its time and body, with an id of its delivery', async () => {
  const { secret } = await add()
  const id = await raiseOne()
  expect(await deliver(pool, id)).toMatchObject({ kind: 'delivered' })
  const [{ method, headers, body } = { method: '', headers: {}, body: '' }] = receiver.received
  expect(method).toBe('POST')
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': 'tallygate',
    'x-tallygate-delivery': id,
  })
  const [, seconds, digest] =
    /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-tallygate-signature'])) ?? []
  expect(digest).toBe(createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'))
  expect(JSON.parse(body)).toEqual({
    id: expect.stringMatching(/^alt_[0-9A-Za-z]{20}$/),
    type: 'gap',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    client: null,
    message: 'records of p1 are missing',
    records: 3,
  })
})

test('prices that are doubted, refused or old are posted to receivers that asked for them, once a day', async () => {
  await add({ kinds: ['prices'] })
  const held = { provider: 'openai', model: 'gpt-4o', why: 'input_mtok from $2.5 to $250', offered: null }
  const url = 'https://prices.example.com'
  await putPriceDoubts(pool, 'genai-prices', [held], url)
  await recordPriceRefresh(pool, 'genai-prices', {
    outcome: 'refused',
    problem: 'it is cut',
    url,
    etag: null,
  })
  const ninety = Date.parse(BUNDLED['genai-prices'].day) + 90 * 86_400_000
  const troubles = async () =>
    (await findPriceTroubles(pool, ninety)).map((one) => ({ ...one, kind: 'prices' }))
  const ids = await raiseAlerts(pool, await troubles())
  for (const id of ids) expect(await deliver(pool, id)).toMatchObject({ kind: 'delivered' })
  const bodies = receiver.received.map(({ body }) => JSON.parse(body) as { type: string; message: string })
  expect(new Set(bodies.map(({ type }) => type))).toEqual(new Set(['prices']))
  const messages = bodies.map(({ message }) => message).join('\n')
  expect(messages).toContain('openai/gpt-4o are doubted, and the old ones stand')
  expect(messages).toContain('were refused, and genai-prices@')
  expect(messages).toContain('Calls are priced by data that was last fresh 90 days ago: genai-prices@')
  expect(await raiseAlerts(pool, await troubles())).toEqual([])
})

test('what happened is sent once, however often it is found and by however many workers', async () => {
  await add()
  const found = await Promise.all(Array.from({ length: 8 }, () => raiseAlerts(pool, [gap('p1'), gap('p2')])))
  expect(found.flat()).toHaveLength(2)
  const ids = found.flat()
  const sent = await Promise.all([...ids, ...ids, ...ids].map((id) => deliver(pool, id)))
  expect(sent.filter(({ kind }) => kind === 'delivered')).toHaveLength(2)
  expect(receiver.received).toHaveLength(2)
  expect(await selectDueDeliveries(pool, 10)).toEqual([])
})

test.each([
  ['a server error', 500],
  ['a redirect, which is not followed', 302],
  ['a refusal', 403],
])('%s is tried again later, with the same id and body', async (_, code) => {
  await add()
  const id = await raiseOne()
  receiver.answer(status(code))
  expect(await deliver(pool, id)).toMatchObject({ kind: 'failed', againInMs: 10_000 })
  expect(await deliver(pool, id)).toEqual({ kind: 'none' })
  await passPauses()
  expect(await deliver(pool, id)).toMatchObject({ kind: 'failed', againInMs: 20_000 })
  await passPauses()
  receiver.answer(status(204))
  expect(await deliver(pool, id)).toMatchObject({ kind: 'delivered' })
  await passPauses()
  expect(await deliver(pool, id)).toEqual({ kind: 'none' })
  expect(receiver.received).toHaveLength(3)
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
  expect(new Set(receiver.received.map(({ headers }) => headers['x-tallygate-delivery']))).toEqual(
    new Set([id]),
  )
})

test('pauses double up to an hour, and after a day a delivery is given up', async () => {
  await add()
  const id = await raiseOne()
  receiver.answer(status(500))
  const pauses: unknown[] = []
  for (let attempt = 1; attempt <= 11; attempt += 1) {
    await passPauses()
    const done = await deliver(pool, id)
    pauses.push(done.kind === 'failed' ? done.againInMs : done.kind)
  }
  const seconds = [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]
  expect(pauses).toEqual(seconds.map((one) => one * 1_000))
  await pool.query(`update tallygate.alert_deliveries set created_at = now() - interval '25 hours'`)
  await passPauses()
  expect(await deliver(pool, id)).toMatchObject({ kind: 'failed', againInMs: 'given_up' })
  await passPauses()
  expect(await deliver(pool, id)).toEqual({ kind: 'none' })
})

test('410 ends a delivery at once, and the receiver stays', async () => {
  const { id: receiverId } = await add()
  const id = await raiseOne()
  receiver.answer(status(410))
  expect(await deliver(pool, id)).toMatchObject({ kind: 'failed', againInMs: 'given_up' })
  expect(await selectReceivers(pool)).toMatchObject([
    { id: receiverId, lastDelivery: { id, state: 'given_up', status: 410, error: 'it answered 410' } },
  ])
})

test('while a receiver fails, all that waits for it waits, and what waits for others does not', async () => {
  await add()
  const other = await startReceiver()
  await add({ url: other.url })
  receiver.answer(status(500))
  const ids = await raiseAlerts(pool, [gap('p1'), gap('p2'), gap('p3')])
  expect(ids).toHaveLength(6)
  for (const id of ids) await deliver(pool, id)
  expect(receiver.received).toHaveLength(1)
  expect(other.received).toHaveLength(3)
  await other.stop()
})

test('a worker that is killed while it sends leaves the delivery to another, half a minute later', async () => {
  await add()
  const id = await raiseOne()
  await pool.query(
    `update tallygate.alert_deliveries set attempts = 1, next_at = now() + interval '30 seconds' where id = $1`,
    [id],
  )
  expect(await selectDueDeliveries(pool, 10)).toEqual([])
  await pool.query(`update tallygate.alert_deliveries set next_at = now() where id = $1`, [id])
  expect(await selectDueDeliveries(pool, 10)).toEqual([id])
  expect(await deliver(pool, id)).toMatchObject({ kind: 'delivered', delivery: { attempts: 2 } })
})

test('a receiver gets only what it asked for: kinds, thresholds, one client', async () => {
  const { id: ofBudgets } = await add({ kinds: ['budget'], thresholds: [80], client: 'acme' })
  const budget = (threshold: number, clientId: string): KnownOccurrence =>
    gap(`1/${clientId}`, { kind: 'budget', threshold, clientId })
  const ids = await raiseAlerts(pool, [gap(), budget(50, 'cli_1'), budget(80, 'cli_1'), budget(80, 'cli_2')])
  expect(ids).toHaveLength(1)
  const { rows } = await pool.query(
    `select d.receiver_id, a.threshold, a.client_id from tallygate.alert_deliveries d
     join tallygate.alerts a on a.id = d.alert_id`,
  )
  expect(rows).toEqual([{ receiver_id: ofBudgets, threshold: 80, client_id: 'cli_1' }])
  expect(await addReceiver(pool, order({ client: 'nobody' }), 'somebody')).toBeNull()
})

test('a receiver that is added later learns what still holds, and not what is over', async () => {
  await add()
  expect(await raiseAlerts(pool, [gap('over'), gap('holds')])).toHaveLength(2)
  await add()
  expect(await raiseAlerts(pool, [gap('holds')])).toHaveLength(1)
})

test('names that clients invent make at most 20 alerts of a kind a day, thresholds as many as there are', async () => {
  await add()
  const many = Array.from({ length: 30 }, (_, index) => gap(`p${index}`))
  expect(await raiseAlerts(pool, many)).toHaveLength(20)
  expect(await raiseAlerts(pool, many)).toHaveLength(0)
  expect(await raiseAlerts(pool, [gap('x', { period: '2026-02-01' })])).toHaveLength(1)
  const budgets = many.map((one) => ({ ...one, kind: 'budget' as const, threshold: 50 }))
  expect(await raiseAlerts(pool, budgets)).toHaveLength(30)
})

test('a removed receiver gets nothing any more, and who added and removed it is kept', async () => {
  const { id } = await add()
  const delivery = await raiseOne()
  expect(await removeReceiver(pool, id, 'another')).toMatchObject({ id })
  expect(await removeReceiver(pool, id, 'another')).toBeNull()
  expect(await deliver(pool, delivery)).toEqual({ kind: 'none' })
  expect(await raiseAlerts(pool, [gap('p2')])).toEqual([])
  expect(await selectReceivers(pool)).toEqual([])
  expect(await testReceiver(pool, id)).toBeNull()
  const { rows } = await pool.query(
    'select who, receiver_id, change from tallygate.alert_receiver_changes order by id',
  )
  expect(rows).toEqual([
    { who: 'somebody', receiver_id: id, change: 'add' },
    { who: 'another', receiver_id: id, change: 'remove' },
  ])
})

test('for Slack an alert is a message in which names cannot mention anybody', async () => {
  await add({ format: 'slack' })
  const id = await raiseOne(gap('p1', { payload: { message: '<!channel> & co' } }))
  await deliver(pool, id)
  const text = '&lt;!channel&gt; &amp; co'
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toEqual({
    text,
    blocks: [
      { type: 'section', text: { type: 'plain_text', text, emoji: false } },
      {
        type: 'context',
        elements: [{ type: 'plain_text', text: expect.stringMatching(/^tallygate · gap · 2/) }],
      },
    ],
  })
})

test('a sample is sent at once and says what came back', async () => {
  const { id } = await add()
  expect(await testReceiver(pool, id)).toMatchObject({ result: { kind: 'delivered', status: 200 } })
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ type: 'test', client: null })
  receiver.answer(status(500))
  expect(await testReceiver(pool, id)).toMatchObject({ result: { status: 500, error: 'it answered 500' } })
  await receiver.stop()
  expect(await testReceiver(pool, id)).toMatchObject({
    result: { kind: 'failed', status: null, error: expect.stringContaining('ECONNREFUSED') },
  })
})

test('an answer without an end holds nothing up', async () => {
  const { id } = await add()
  receiver.answer((_, response) => {
    response.writeHead(200)
    response.write('x'.repeat(1_000_000))
  })
  expect(await testReceiver(pool, id)).toMatchObject({ result: { kind: 'delivered' } })
})

test('alerts are deleted after 90 days, those of a budget for all time never', async () => {
  await add()
  const limit = (per: string): KnownOccurrence =>
    gap(per, { kind: 'budget', payload: { message: '', limit: { per } }, threshold: 50 })
  await raiseAlerts(pool, [limit('total'), limit('day'), gap()])
  await pool.query(`update tallygate.alerts set at = now() - interval '91 days' where kind = 'budget'`)
  await pool.query(`update tallygate.alert_deliveries set state = 'delivered'`)
  expect(await pruneAlerts(pool)).toBe(1)
  const { rows } = await pool.query('select subject from tallygate.alerts order by 1')
  expect(rows).toEqual([{ subject: 'p1' }, { subject: 'total' }])
})

test('doctor names a receiver that has taken nothing for an hour, until it takes something', async () => {
  expect(await checkAlerts(pool)).toEqual([])
  const { id } = await add()
  await add({ kinds: ['budget'] })
  const delivery = await raiseOne()
  receiver.answer(status(500))
  await deliver(pool, delivery)
  expect(await checkAlerts(pool)).toMatchObject([{ state: 'ok', detail: '2 receivers, and none fails' }])
  await pool.query(`update tallygate.alert_deliveries set created_at = now() - interval '61 minutes'`)
  expect(await checkAlerts(pool)).toMatchObject([
    { name: 'alerts', state: 'wrong', detail: expect.stringContaining(`receiver ${id} has taken no alert`) },
  ])
  receiver.answer(status(200))
  await passPauses()
  await deliver(pool, delivery)
  expect(await checkAlerts(pool)).toMatchObject([{ state: 'ok' }])
})
