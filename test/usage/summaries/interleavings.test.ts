import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addCredit } from '../../../src/corrections/adjustments.ts'
import { addDays } from '../../../src/domain/utc-day.ts'
import { lockForRollUp } from '../../../src/store/connection/advisory-locks.ts'
import { inTransaction, type Postgres } from '../../../src/store/connection/postgres.ts'
import { selectUsageSummary } from '../../../src/usage/query/select-usage.ts'
import { closeDay, closeMonth, summarise } from '../../../src/usage/summaries/summarise.ts'
import { selectSummarised } from '../../../src/usage/summaries/summarised.ts'
import { selectSummaryDifferences } from '../../../src/usage/summaries/summary-differences.ts'
import { type LedgerDatabase, NO_LIMIT_MS, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../../rollup/records.ts'
import { rounds } from '../../support/rounds.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'
import { emptyUsage } from './empty-usage.ts'
import { selectPlainUsage } from './plain-usage.ts'

const DAY = '2026-02-10'
const FEBRUARY = { fromDay: '2026-02-01', toDay: '2026-02-28' }
/** Of calls written, days summed up and answers, before all that goes on at once may end: a busy machine does little in a second. */
const LEAST = 3
const ALL = { ...FEBRUARY, clientId: null, groupBy: [] }
const BY_MODEL = { ...ALL, groupBy: ['model' as const] }

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(0)
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  await emptyUsage(ledger.pool)
  await add(DAY)
})

async function add(day: string, shard = 'test:calls'): Promise<void> {
  const record = aRecord({ arrivedAtMs: Date.parse(`${day}T12:00:00Z`), priceId: null, costPico: null })
  for (;;) {
    const rolledUp = await ledger.rollUp(shard, [aCandidate(newProducer(), 1, record)])
    if (rolledUp.kind !== 'busy') return
  }
}

/** The pool, where `meanwhile` happens before each statement that `isBefore` knows. */
function interrupted(isBefore: (text: string) => boolean, meanwhile: () => Promise<void>): Postgres {
  const before = async (statement: unknown) => {
    const text: unknown = typeof statement === 'string' ? statement : Object(statement).text
    if (isBefore(typeof text === 'string' ? text : '')) await meanwhile()
  }
  const wrap = <Session extends Pick<Postgres, 'query'>>(session: Session): Session =>
    new Proxy(session, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        if (name === 'query') {
          return async (...values: unknown[]) => {
            await before(values[0])
            return await value.apply(target, values)
          }
        }
        return value.bind(target)
      },
    })
  return new Proxy(wrap(ledger.pool), {
    get(target, name) {
      if (name === 'connect') return async () => wrap(await ledger.pool.connect())
      return Reflect.get(target, name, target)
    },
  })
}

async function differences() {
  return await inTransaction(ledger.pool, async (session) => {
    await session.query('set transaction isolation level repeatable read')
    const found = []
    for (let day = FEBRUARY.fromDay; day <= FEBRUARY.toDay; day = addDays(day, 1)) {
      found.push(...(await selectSummaryDifferences(session, day)))
    }
    return found
  })
}

test('what is written between the statements of an answer is counted once, however often', async () => {
  for (const most of [1, 2, 10]) {
    await summarise(ledger.pool, NO_LIMIT_MS)
    let times = 0
    const pool = interrupted(
      (text) => text.includes('daily_usage'),
      async () => {
        times += 1
        if (times <= most) await add(DAY)
      },
    )
    const rows = await selectUsageSummary(pool, BY_MODEL)
    expect(times).toBeGreaterThan(1)
    expect(rows).toEqual(await selectPlainUsage(ledger.pool, BY_MODEL))
  }
})

test('a month that is reopened between the statements of an answer is asked for again, day by day', async () => {
  await summarise(ledger.pool, NO_LIMIT_MS)
  expect((await selectSummarised(ledger.pool, FEBRUARY)).months).toEqual(new Set(['2026-02-01']))
  let isFirst = true
  const pool = interrupted(
    (text) => text.includes('usage_months'),
    async () => {
      if (isFirst) await add('2026-02-28')
      isFirst = false
    },
  )
  expect(await selectUsageSummary(pool, ALL)).toEqual(await selectPlainUsage(ledger.pool, ALL))
})

test('a day that is written while it is summed up stays open', async () => {
  for (const table of ['usage_days_by_key ', 'usage_days_by_model ', 'usage_days ']) {
    const pool = interrupted(
      (text) => text.startsWith(`insert into tallygate.${table}`),
      () => add(DAY),
    )
    expect(await closeDay(pool, DAY)).toBe(false)
    expect((await selectSummarised(ledger.pool, FEBRUARY)).days).toEqual(new Set())
    expect(await selectUsageSummary(ledger.pool, ALL)).toEqual(await selectPlainUsage(ledger.pool, ALL))
  }
  expect(await closeDay(ledger.pool, DAY)).toBe(true)
  expect(await differences()).toEqual([])
})

test('a month of which a day is written while it is summed up stays open', async () => {
  await summarise(ledger.pool, NO_LIMIT_MS)
  await emptyTables(ledger.pool, ['summarised_months'])
  const pool = interrupted(
    (text) => text.startsWith('insert into tallygate.usage_months_by_model '),
    async () => {
      await add('2026-02-01')
      // Even if the day is closed again meanwhile.
      expect(await closeDay(ledger.pool, '2026-02-01')).toBe(true)
    },
  )
  expect(await closeMonth(pool, '2026-02-01')).toBe(false)
  expect(await closeMonth(ledger.pool, '2026-02-01')).toBe(true)
  expect(await differences()).toEqual([])
})

test('the sums of a day wait for a roll-up of it that has not ended', async () => {
  const session = await ledger.pool.connect()
  await session.query('begin')
  expect(await lockForRollUp(session, 'another', [DAY])).toBe(true)
  await session.query('update tallygate.daily_usage set requests = requests + 1')
  const closing = closeDay(ledger.pool, DAY)
  await expect
    .poll(async () => {
      const { rows } = await ledger.pool.query(
        `select count(*) as waiting from pg_locks where locktype = 'advisory' and not granted
           and database = (select oid from pg_database where datname = current_database())`,
      )
      return rows[0].waiting
    })
    .toBe('1')
  await session.query('commit')
  session.release()
  expect(await closing).toBe(true)
  const { rows } = await ledger.pool.query('select requests from tallygate.usage_days')
  expect(rows).toEqual([{ requests: '2' }])
})

test('two that sum the same day up at once leave it closed once, with its sums', async () => {
  const closed = await Promise.all(Array.from({ length: 4 }, () => closeDay(ledger.pool, DAY)))
  expect(closed).toContain(true)
  expect((await selectSummarised(ledger.pool, FEBRUARY)).days).toEqual(new Set([DAY]))
  expect(await differences()).toEqual([])
})

test('readers never see less than was counted before, or more than was after, while all goes on at once', async () => {
  const untilMs = performance.now() + rounds({ short: 800, long: 6_000 })
  let [written, sums, answers] = [0, 0, 0]
  const isGoing = () => performance.now() < untilMs || [written, sums, answers].some((count) => count < LEAST)
  const failures: string[] = []
  const writer = async (shard: string) => {
    while (isGoing()) {
      await add(addDays('2026-02-08', written % 5), shard)
      written += 1
    }
  }
  const corrector = async () => {
    while (isGoing()) {
      await addCredit(ledger.pool, {
        clientId: 'cli_a',
        day: DAY,
        model: null,
        pico: 1n,
        who: 'me',
        why: 'test',
      })
    }
  }
  const closer = async () => {
    while (isGoing()) sums += (await summarise(ledger.pool, NO_LIMIT_MS)).days.length
  }
  const reader = async () => {
    const plain = async () => Number((await selectPlainUsage(ledger.pool, ALL))[0]?.requests)
    while (isGoing()) {
      const before = await plain()
      const [row] = await selectUsageSummary(ledger.pool, ALL)
      const after = await plain()
      const requests = Number(row?.requests)
      if (requests < before || requests > after) failures.push(`${before} ${requests} ${after}`)
      answers += 1
    }
  }
  await Promise.all([writer('test:1'), writer('test:2'), corrector(), closer(), closer(), reader(), reader()])
  expect(failures).toEqual([])
  expect(await summarise(ledger.pool, NO_LIMIT_MS)).toMatchObject({ isDone: true, failed: [] })
  expect(await differences()).toEqual([])
  expect(await selectUsageSummary(ledger.pool, BY_MODEL)).toEqual(
    await selectPlainUsage(ledger.pool, BY_MODEL),
  )
})
