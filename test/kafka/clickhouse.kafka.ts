import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { BILLED_UNITS, countsBy, NO_USAGE, TOKEN_CLASSES } from '../../src/call/usage.ts'
import { addCredit } from '../../src/corrections/adjustments.ts'
import { reprice } from '../../src/corrections/reprice.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import { readEvents } from '../../src/usage/events/read-events.ts'
import { Outbox } from '../../src/usage/outbox/outbox.ts'
import { holdOutbox } from '../../src/usage/outbox/outbox-state.ts'
import { selectPages, unpackPage } from '../../src/usage/outbox/outbox-table.ts'
import { orderTo } from '../corrections/repricing-order.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from '../rollup/records.ts'
import { type ClickHouse, openClickHouse } from './support/clickhouse.ts'

let ledger: LedgerDatabase
let clickHouse: ClickHouse

beforeAll(async () => {
  ;[ledger, clickHouse] = await Promise.all([openLedgerDatabase(), openClickHouse()])
})
afterAll(async () => {
  await clickHouse?.drop()
  await ledger?.drop()
})

const TODAY = utcDayOf(Date.now())
const SCOPE = { from: addDays(TODAY, -5), to: addDays(TODAY, 1), clientId: null }

/** What waits for Kafka, in its order. */
async function waiting(): Promise<string[]> {
  const pages = await selectPages(ledger.pool, '0', 2 ** 40)
  return (await Promise.all(pages.map(({ body }) => unpackPage(body)))).flat().map(({ event }) => event)
}

async function exported(): Promise<string[]> {
  const events: string[] = []
  for await (const { rows } of readEvents(ledger.pool, SCOPE)) events.push(...rows)
  return events
}

const ours = (changes: Partial<CallRecord> = {}) =>
  aRecord({ model: 'our-model', reportedModel: 'our-model', requestedModel: 'our-model', ...changes })
const unpriced = { costPico: null, priceId: null, unpricedReason: 'no_price' }

/** One of each kind that totals tell apart, and amounts that no float holds. */
function recordsOfAllKinds(): CallRecord[] {
  const job = (id: string): Partial<CallRecord> => ({
    usage: NO_USAGE,
    usageSource: 'none',
    ...unpriced,
    unpricedReason: 'billed_later',
    responseId: id,
    responseUse: 'created',
    objects: [{ id, kind: 'response', is: 'created', job: true }],
  })
  return [
    aRecord({ costPico: '1' }),
    aRecord({ costPico: '9007199254740993000000001', latencyUs: 9_007_199_254_741 }),
    aRecord({ arrivedAtMs: Date.now() - 86_400_000, latencyUs: 1_001, clientId: 'cli_"b"\\' }),
    aRecord({ webSocket: true, latencyUs: 77, serviceTier: 'flex', reportedCostPico: '3' }),
    aRecord({
      usageSource: 'estimated',
      outcome: 'interrupted',
      status: null,
      latencyUs: null,
      ttftUs: null,
    }),
    aRecord({ outcome: 'upstream_error', status: 502, usage: NO_USAGE, usageSource: 'none', costPico: '0' }),
    aRecord({ failedInBody: true, usageSource: 'invalid', usage: NO_USAGE, costPico: '0', priceId: null }),
    aRecord({ usage: countsBy(TOKEN_CLASSES, () => 7), units: countsBy(BILLED_UNITS, () => 11) }),
    ours(unpriced),
    ours({ ...unpriced, clientId: 'cli_b' }),
    aRecord(job('resp_1')),
    // One that was cut: what it was taken to have used is taken back.
    aRecord({
      ...job('resp_2'),
      ...estimated,
      objects: [{ id: 'resp_2', kind: 'response', is: 'created', job: true }],
    }),
  ]
}

const estimated: Partial<CallRecord> = {
  usage: { ...NO_USAGE, inputTokens: 5, outputTokens: 6 },
  usageSource: 'partial',
  costPico: '123',
  priceId: 'p#1',
  unpricedReason: undefined,
}

const fetched = (id: string) =>
  aRecord({ clientId: 'cli_fetching', method: 'GET', responseId: id, responseUse: 'fetched' })

test('ClickHouse has the ledger’s totals to the picodollar, of every event twice, in any order, with corrections', async () => {
  const { pool } = ledger
  await holdOutbox(pool, 'a worker')
  const rollUp = createRollUp({
    pool,
    callDays: createCallDays(pool, 35, quiet),
    otherSinks: [new Outbox({ maxBytes: 2 ** 40 })],
  })
  const producer = newProducer()
  let sequence = 0
  const count = (records: readonly CallRecord[]) =>
    rollUp(
      'test:calls',
      records.map((record) => aCandidate(producer, ++sequence, record)),
    )
  const all = recordsOfAllKinds()
  await count(all)
  await count([fetched('resp_1'), fetched('resp_2')])
  const credit = { clientId: 'cli_a', day: TODAY, model: null, who: 'ann', why: 'goodwill' }
  await addCredit(pool, { ...credit, pico: -1n })
  await addCredit(pool, { ...credit, day: addDays(TODAY, -3), model: 'gpt-4o', pico: 10n ** 24n + 1n })
  await reprice(pool, orderTo('our-model', addDays(TODAY, -3)))
  // Calls that come late are priced by the repricing's rule, and its entry grows twice.
  await count([ours(unpriced), ours({ ...unpriced, clientId: 'cli_b' })])
  await count([ours(unpriced)])

  const events = await waiting()
  await clickHouse.insert(events.slice(1))
  // The first event is missing: the check says of what.
  expect(await clickHouse.check(pool, SCOPE)).toMatchObject([
    { client_id: 'cli_a', requests: -1, input_tokens: -100 },
  ])
  await clickHouse.insert(events.toReversed())
  expect(await clickHouse.check(pool, SCOPE)).toEqual([])
  // What was sent from the export fits in with what Kafka had.
  await clickHouse.insert(await exported())
  expect(await clickHouse.check(pool, SCOPE)).toEqual([])
  expect(
    await clickHouse.query('select count() as rows, countIf(settled) as settled from tallygate.calls'),
  ).toEqual([{ rows: sequence + 3, settled: 1 }])

  // The recipe without Kafka: the export alone.
  const other = await openClickHouse()
  try {
    await other.insert(await exported())
    expect(await other.check(pool, SCOPE)).toEqual([])
  } finally {
    await other.drop()
  }
})
