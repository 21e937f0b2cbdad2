import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { createCallDays } from '../../../src/rollup/call-days.ts'
import { createRollUp } from '../../../src/rollup/roll-up.ts'
import type { RollUp } from '../../../src/rollup/rolled-up.ts'
import { Outbox } from '../../../src/usage/outbox/outbox.ts'
import { holdOutbox, selectOutboxState } from '../../../src/usage/outbox/outbox-state.ts'
import type { KeyedEvent } from '../../../src/usage/outbox/outbox-table.ts'
import type { EventBroker } from '../../../workers/kafka/call-sender.ts'
import { type CallSender, startCallSender } from '../../../workers/kafka/call-sender.ts'
import { kafkaProblemOf } from '../../../workers/kafka/kafka-broker.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from '../../rollup/records.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'

/** Stands in for Kafka: what it has, and what goes wrong with it. */
class FakeKafka {
  readonly events: KeyedEvent[] = []
  /** How many of a batch arrive; the rest fails. */
  takes: () => number = () => Number.POSITIVE_INFINITY
  isAway = false
  sending = 0
  /** Sends that are under way at once, at most. */
  most = 0
  opened = 0

  readonly open = async (): Promise<EventBroker> => {
    this.opened += 1
    return {
      check: async () => this.#answer(),
      send: async (events) => {
        this.sending += 1
        this.most = Math.max(this.most, this.sending)
        await new Promise((resolve) => setTimeout(resolve, 2))
        this.sending -= 1
        this.#answer()
        const taken = this.takes()
        this.events.push(...events.slice(0, taken))
        if (taken < events.length) throw new Error('the connection broke')
      },
      close: async () => {},
    }
  }

  #answer(): void {
    if (this.isAway) throw new Error('no broker answers')
  }

  get ids(): string[] {
    return this.events.map(({ event }) => JSON.parse(event).id)
  }
}

const STREAM = 'test:calls'
let ledger: LedgerDatabase
let rollUp: RollUp
let kafka: FakeKafka
let senders: CallSender[]
let producer: string
let sequence: number

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  rollUp = createRollUp({
    pool: ledger.pool,
    callDays: createCallDays(ledger.pool, 35, quiet),
    otherSinks: [new Outbox({ maxBytes: 2 ** 30 })],
  })
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  kafka = new FakeKafka()
  senders = []
  producer = newProducer()
  sequence = 0
  await emptyTables(ledger.pool, ['call_outbox', 'call_outbox_state', 'call_outbox_skipped'])
})
afterEach(() => Promise.all(senders.map((sender) => sender.close())))

function startSender(times = {}): CallSender {
  const sender = startCallSender({
    pool: ledger.pool,
    openBroker: kafka.open,
    problemOf: kafkaProblemOf,
    log: quiet,
    times: { idle: 20, lease: 100, pause: 10, longestPause: 50, ...times },
  })
  senders.push(sender)
  return sender
}

/** Counts so many calls of five clients, some in a transaction. */
async function count(calls: number, some = 100): Promise<CallRecord[]> {
  const records = Array.from({ length: calls }, (_, index) => aRecord({ clientId: `cli_${index % 5}` }))
  for (let from = 0; from < calls; from += some) {
    const batch = records.slice(from, from + some).map((record) => {
      sequence += 1
      return aCandidate(producer, sequence, record)
    })
    await rollUp(STREAM, batch)
  }
  return records
}

const sent = (records: readonly CallRecord[]) =>
  vi.waitFor(() => expect(new Set(kafka.ids)).toEqual(new Set(records.map(({ callId }) => callId))))

const emptied = () =>
  vi.waitFor(async () => {
    const { rows } = await ledger.pool.query('select count(*)::int as n from tallygate.call_outbox')
    expect(rows[0].n).toBe(0)
  })

/** Each client's calls, in the order in which they came first. */
function firstOrder(): Map<string, string[]> {
  const byKey = Map.groupBy(kafka.events, ({ key }) => key)
  return new Map(
    [...byKey].map(([key, events]) => [key, [...new Set(events.map(({ event }) => JSON.parse(event).id))]]),
  )
}

test('every call is sent once it is counted, in its client’s order, and leaves Postgres', async () => {
  startSender()
  const records = await count(3_000, 700)
  await sent(records)
  await emptied()
  expect(kafka.events).toHaveLength(3_000)
  for (const [client, ids] of firstOrder()) {
    expect(ids).toEqual(records.filter(({ clientId }) => clientId === client).map(({ callId }) => callId))
  }
  expect(await selectOutboxState(ledger.pool)).toMatchObject({ held: true, problem: null, sentCalls: 3_000 })
})

test('sends that fail in the middle are repeated until each call has arrived, still in order', async () => {
  let turn = 0
  kafka.takes = () => {
    turn += 1
    return turn % 3 === 0 ? Number.POSITIVE_INFINITY : (turn * 137) % 500
  }
  const records = await count(5_000, 50)
  startSender()
  await sent(records)
  await emptied()
  for (const [client, ids] of firstOrder()) {
    expect(ids).toEqual(records.filter(({ clientId }) => clientId === client).map(({ callId }) => callId))
  }
  // Each failure with a fresh connection.
  expect(kafka.opened).toBeGreaterThan(1)
})

test('while no broker answers calls wait and the reason can be read, and later all of them arrive', async () => {
  kafka.isAway = true
  startSender()
  const records = await count(1_200, 300)
  await vi.waitFor(async () => {
    const state = await selectOutboxState(ledger.pool)
    expect(state).toMatchObject({ problem: 'no broker answers', waitingCalls: 1_200, sentCalls: 0 })
    expect(state?.oldestAt).toBeInstanceOf(Date)
    expect(state?.waitingBytes).toBeGreaterThan(1_000)
  })
  kafka.isAway = false
  await sent(records)
  await emptied()
  await vi.waitFor(async () => {
    const state = await selectOutboxState(ledger.pool)
    expect(state).toMatchObject({
      problem: null,
      waitingCalls: 0,
      waitingBytes: 0,
      oldestAt: null,
      sentCalls: 1_200,
    })
  })
})

test('of several workers one sends at a time, and none sends what another has sent', async () => {
  for (let worker = 0; worker < 4; worker += 1) startSender()
  const records = await count(2_000, 100)
  await sent(records)
  await emptied()
  expect(kafka.events).toHaveLength(2_000)
  expect(kafka.most).toBe(1)
})

test('when the worker that sends is gone without a word, another one goes on once its time is over', async () => {
  expect(await holdOutbox(ledger.pool, 'a worker that was killed')).toBe(true)
  startSender()
  const records = await count(10)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(kafka.events).toHaveLength(0)
  await ledger.pool.query(`update tallygate.call_outbox_state set held_until = now() - interval '1 ms'`)
  await sent(records)
})

test('a worker that stops lets another one go on at once', async () => {
  const first = startSender()
  await sent(await count(10))
  await first.close()
  expect(await selectOutboxState(ledger.pool)).toMatchObject({ held: false })
  const before = kafka.ids
  startSender()
  const records = await count(10)
  await vi.waitFor(() => expect(kafka.ids).toEqual([...before, ...records.map(({ callId }) => callId)]))
})

test('a worker that cannot reach the brokers leaves it to one that can', async () => {
  const away = new FakeKafka()
  away.isAway = true
  const cutOff = startCallSender({
    pool: ledger.pool,
    openBroker: away.open,
    problemOf: kafkaProblemOf,
    log: quiet,
    times: { idle: 20, lease: 100, pause: 500, longestPause: 500 },
  })
  senders.push(cutOff)
  await vi.waitFor(() => expect(away.opened).toBeGreaterThan(0))
  startSender()
  const records = await count(100)
  await sent(records)
  expect(away.events).toHaveLength(0)
})

test('the lease is renewed while a slow send is under way', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const arrived: KeyedEvent[] = []
  senders.push(
    startCallSender({
      pool: ledger.pool,
      openBroker: async () => ({
        check: async () => {},
        send: async (events) => {
          await promise
          arrived.push(...events)
        },
        close: async () => {},
      }),
      problemOf: kafkaProblemOf,
      log: quiet,
      times: { idle: 20, lease: 50, pause: 10, longestPause: 50 },
    }),
  )
  await count(1)
  const heldUntil = async () => (await selectOutboxState(ledger.pool))?.heldUntil.getTime() ?? 0
  await vi.waitFor(async () => expect(await heldUntil()).toBeGreaterThan(0))
  const first = await heldUntil()
  await vi.waitFor(async () => expect(await heldUntil()).toBeGreaterThan(first + 200))
  expect(arrived).toHaveLength(0)
  resolve()
  await vi.waitFor(() => expect(arrived).toHaveLength(1))
})
