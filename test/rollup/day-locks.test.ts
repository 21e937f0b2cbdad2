import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addCredit } from '../../src/corrections/adjustments.ts'
import { rebuildDay } from '../../src/corrections/rebuild.ts'
import { verifyLedger } from '../../src/corrections/verify.ts'
import { addDays, type UtcDay, utcDayOf } from '../../src/domain/utc-day.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import { lockCorrections, lockDays } from '../../src/store/connection/advisory-locks.ts'
import { inTransaction, type Postgres } from '../../src/store/connection/postgres.ts'
import { busyness } from '../support/patience.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { type LedgerDatabase, openLedgerDatabase } from './ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from './records.ts'

const NOW = Date.now()
const DAY_MS = 86_400_000
const TODAY = utcDayOf(NOW)
const YESTERDAY = addDays(TODAY, -1)

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())
beforeEach(() =>
  emptyTables(ledger.pool, [
    'daily_usage',
    'daily_latency',
    'call_rows',
    'producers',
    'adjustments',
    'adjustment_entries',
    'objects',
    'responses_seen',
  ]),
)

const order = (day: UtcDay) => ({ day, who: 'op', why: 'test' })

function callOn(day: UtcDay, clientId = 'cli_a') {
  const arrivedAtMs = day === TODAY ? NOW : NOW - DAY_MS
  return aRecord({ arrivedAtMs, clientId, costPico: '0', priceId: null })
}

function batchOf(...records: readonly ReturnType<typeof aRecord>[]) {
  const producer = newProducer()
  return records.map((record, index) => aCandidate(producer, index + 1, record))
}

/** Requests by day, and whether the totals are what their calls and the committed offsets say. */
async function state() {
  const { rows } = await ledger.pool.query<{ day: UtcDay; requests: number }>(
    'select day, sum(requests)::int as requests from tallygate.daily_usage group by day order by day',
  )
  const { differences, proof } = await verifyLedger(ledger.pool, '2000-01-01')
  return {
    requests: Object.fromEntries(rows.map(({ day, requests }) => [day, requests])),
    differences,
    isWhole: proof.totals === proof.counted,
  }
}

const lockWaits = async () =>
  (await ledger.pool.query(`select from pg_locks where locktype = 'advisory' and not granted`)).rowCount

/** A pool whose sessions call `before` ahead of the first statement of this form. */
function pausedAt(form: RegExp, pool: Postgres, before: () => Promise<void>): Postgres {
  let isPaused = false
  return new Proxy(pool, {
    get(target, name) {
      if (name !== 'connect') return Reflect.get(target, name, target)
      return async () => {
        const session = await target.connect()
        return new Proxy(session, {
          get(of, member) {
            const value: unknown = Reflect.get(of, member, of)
            if (typeof value !== 'function') return value
            if (member !== 'query') return value.bind(of)
            return async (query: string | { readonly text: string }, ...rest: unknown[]) => {
              const text = typeof query === 'string' ? query : query.text
              if (!isPaused && form.test(text.trim())) {
                isPaused = true
                await before()
              }
              return await Reflect.apply(value, of, [query, ...rest])
            }
          },
        })
      }
    },
  })
}

test('a correction of a day holds its calls back, and no other day’s', async () => {
  const [yesterdays, both] = [batchOf(callOn(YESTERDAY)), batchOf(callOn(TODAY), callOn(YESTERDAY))]
  await inTransaction(ledger.pool, async (session) => {
    await lockDays(session, [YESTERDAY])
    expect(await ledger.rollUp('test:1', yesterdays)).toMatchObject({ kind: 'busy', counted: 0 })
    expect(await ledger.rollUp('test:2', both)).toMatchObject({ kind: 'busy', counted: 0 })
    expect(await ledger.rollUp('test:3', batchOf(callOn(TODAY)))).toMatchObject({ kind: 'done', counted: 1 })
  })
  expect(await ledger.rollUp('test:1', yesterdays)).toMatchObject({ kind: 'done', counted: 1 })
  expect(await ledger.rollUp('test:2', both)).toMatchObject({ kind: 'done', counted: 2 })
  expect(await state()).toEqual({
    requests: { [YESTERDAY]: 2, [TODAY]: 2 },
    differences: [],
    isWhole: true,
  })
})

test('a correction of all days holds every call back, and those of a day too', async () => {
  let credited: Promise<unknown> = Promise.resolve()
  const batch = batchOf(callOn(TODAY))
  await inTransaction(ledger.pool, async (session) => {
    await lockCorrections(session)
    expect(await ledger.rollUp('test:1', batch)).toMatchObject({ kind: 'busy', counted: 0 })
    credited = addCredit(ledger.pool, { ...order(TODAY), clientId: 'cli_a', model: null, pico: -5n })
    await expect.poll(lockWaits, { interval: 5 }).toBe(1)
  })
  await credited
  expect(await ledger.rollUp('test:1', batch)).toMatchObject({ kind: 'done', counted: 1 })
})

/** Each is where a roll-up is paused, right ahead of it. */
const POINTS = [
  /^select pg_try_advisory/,
  /^insert into tallygate.producers/,
  /for update$/,
  /^select adjustment_id, model/,
  /select w.place/,
  /tallygate.call_rows \(/,
  /daily_usage as u/,
  /set mark = m.new/,
  /^commit/,
]

test.each(
  POINTS,
)('a day is rebuilt with a roll-up at %s, and nothing is missed or doubled', async (point) => {
  await ledger.rollUp('test:calls', batchOf(callOn(TODAY), callOn(YESTERDAY)))
  await ledger.pool.query('update tallygate.daily_usage set input_tokens = 7')
  let rebuilding: Promise<unknown> = Promise.resolve()
  const pool = pausedAt(point, ledger.pool, async () => {
    rebuilding = rebuildDay(ledger.pool, order(TODAY))
    rebuilding.catch(() => {})
    let isDone = false
    rebuilding.finally(() => {
      isDone = true
    })
    // Until it has ended, or waits for the roll-up.
    await expect.poll(async () => isDone || (await lockWaits()) === 1, { interval: 5 }).toBe(true)
    // A day that the roll-up does not count on waits for nothing.
    await rebuildDay(ledger.pool, order(YESTERDAY))
  })
  const rollUp = createRollUp({ pool, callDays: createCallDays(ledger.pool, 35, quiet) })
  const batch = batchOf(callOn(TODAY), callOn(TODAY, 'cli_b'))
  expect(await rollUp('test:calls', batch)).toMatchObject({ kind: 'done', counted: 2 })
  expect(await rebuilding).toMatchObject({ kind: 'rebuilt' })
  expect(await state()).toEqual({
    requests: { [YESTERDAY]: 1, [TODAY]: 3 },
    differences: [],
    isWhole: true,
  })
})

const REBUILD_POINTS = [
  /advisory_xact_lock_shared\(\$1\)$/,
  /^select pg_advisory_xact_lock\(\$1, number/,
  /^select \(select count/,
  /^delete from tallygate.daily_usage/,
  /^insert into tallygate.daily_usage as u/,
  /^insert into tallygate.daily_latency/,
  /^commit/,
]

test.each(
  REBUILD_POINTS,
)('calls come in with a rebuild at %s, and nothing is missed or doubled', async (point) => {
  await ledger.rollUp('test:calls', batchOf(callOn(TODAY), callOn(YESTERDAY)))
  await ledger.pool.query('update tallygate.daily_usage set input_tokens = 7')
  const batch = batchOf(callOn(TODAY), callOn(TODAY, 'cli_b'))
  let isReached = false
  const pool = pausedAt(point, ledger.pool, async () => {
    isReached = true
    await ledger.rollUp('test:calls', batch)
    expect(await ledger.rollUp('test:2', batchOf(callOn(YESTERDAY)))).toMatchObject({ kind: 'done' })
  })
  expect(await rebuildDay(pool, order(TODAY))).toMatchObject({ kind: 'rebuilt' })
  expect(isReached).toBe(true)
  await ledger.rollUp('test:calls', batch)
  await rebuildDay(ledger.pool, order(YESTERDAY))
  expect(await state()).toEqual({
    requests: { [YESTERDAY]: 2, [TODAY]: 3 },
    differences: [],
    isWhole: true,
  })
})

test('what a job used waits for a correction of the day of its submission, and is counted once', async () => {
  const submission = aRecord({
    arrivedAtMs: NOW - DAY_MS,
    path: '/v1/batches',
    usageSource: 'none',
    costPico: null,
    priceId: null,
    unpricedReason: 'billed_later',
    responseId: 'batch_1',
    responseUse: 'created',
    objects: [{ id: 'batch_1', kind: 'batch', is: 'created', job: true }],
  })
  const fetch = batchOf(
    aRecord({
      method: 'GET',
      path: '/v1/batches/batch_1',
      clientId: 'cli_b',
      responseId: 'batch_1',
      responseUse: 'fetched',
      costPico: '0',
      priceId: null,
    }),
  )
  await ledger.rollUp('test:calls', batchOf(submission))
  await inTransaction(ledger.pool, async (session) => {
    await lockDays(session, [YESTERDAY])
    // Its own day is free; that of the settlement is known only once the object was read.
    expect(await ledger.rollUp('test:calls', fetch)).toMatchObject({ kind: 'busy', counted: 0 })
  })
  const settled = () =>
    ledger.pool.query(
      `select sum(unpriced)::int as unpriced, coalesce(sum(settlements), 0)::int as settlements
       from tallygate.daily_usage`,
    )
  expect((await settled()).rows).toEqual([{ unpriced: 1, settlements: 0 }])
  // Postgres learns a moment later that the connection of the first attempt is closed.
  await expect.poll(() => ledger.rollUp('test:calls', fetch)).toMatchObject({ kind: 'done', counted: 1 })
  expect(await ledger.rollUp('test:calls', fetch)).toMatchObject({ kind: 'done', counted: 0 })
  expect((await settled()).rows).toEqual([{ unpriced: 0, settlements: 1 }])
  expect(await state()).toMatchObject({ differences: [], isWhole: true })
})

test('a correction of all days that has to wait for one of a day lets calls of other days pass meanwhile', async () => {
  let waitedMs: number | null = null
  let longestMs = 0
  await inTransaction(ledger.pool, async (ofADay) => {
    await lockDays(ofADay, [YESTERDAY])
    const beganMs = performance.now()
    const ofAllDays = inTransaction(ledger.pool, async (session) => {
      await lockCorrections(session)
      waitedMs = performance.now() - beganMs
    })
    ofAllDays.catch(() => {})
    // As a part of a day of millions of calls that is rebuilt.
    for (let countedMs = beganMs; performance.now() - beganMs < 6_000; ) {
      if ((await ledger.rollUp('test:calls', batchOf(callOn(TODAY)))).kind === 'done') {
        longestMs = Math.max(longestMs, performance.now() - countedMs)
        countedMs = performance.now()
      }
      await delay(20)
    }
    await ofADay.query('commit')
    await ofAllDays
    await ofADay.query('begin')
  })
  expect(waitedMs).toBeGreaterThan(5_900)
  expect(longestMs).toBeLessThan(2_000 * busyness())
  // Its settings are again those of before.
  await inTransaction(ledger.pool, async (session) => {
    await lockCorrections(session)
    expect((await session.query('show lock_timeout')).rows).toEqual([{ lock_timeout: '5s' }])
  })
})

test('corrections of days that overlap never wait for one another in a circle', async () => {
  const days = Array.from({ length: 8 }, (_, back) => addDays(TODAY, -back))
  await Promise.all(
    Array.from({ length: 6 }, (_, number) =>
      inTransaction(ledger.pool, async (session) => {
        await lockDays(session, number % 2 === 0 ? days : days.toReversed())
      }),
    ),
  )
})

test('what writes rows of a day deletes the markers of its summaries, and of no other day', async () => {
  const month = `${YESTERDAY.slice(0, 7)}-01`
  const close = async () => {
    await ledger.pool.query(
      `insert into tallygate.summarised_days (day) values ($1), ($2), ('2001-01-01') on conflict do nothing`,
      [YESTERDAY, TODAY],
    )
    await ledger.pool.query(
      `insert into tallygate.summarised_months (month) values ($1), ('2001-01-01') on conflict do nothing`,
      [month],
    )
  }
  const closed = async () => {
    const { rows } = await ledger.pool.query<{ day: UtcDay }>(
      'select day from tallygate.summarised_days union all select month from tallygate.summarised_months order by 1',
    )
    return rows.map(({ day }) => day)
  }
  const writers = [
    () => ledger.rollUp('test:calls', batchOf(callOn(YESTERDAY))),
    () => addCredit(ledger.pool, { ...order(YESTERDAY), clientId: 'cli_a', model: null, pico: -5n }),
    async () => {
      await ledger.pool.query('update tallygate.daily_usage set input_tokens = 7 where requests > 0')
      await rebuildDay(ledger.pool, order(YESTERDAY))
    },
  ]
  for (const write of writers) {
    await close()
    await write()
    expect(await closed()).toEqual(['2001-01-01', '2001-01-01', TODAY])
  }
  await emptyTables(ledger.pool, ['summarised_days', 'summarised_months'])
})
