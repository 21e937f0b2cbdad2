import { spawn } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reprice } from '../../src/corrections/reprice.ts'
import { verifyLedger } from '../../src/corrections/verify.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { orderTo } from './repricing-order.ts'

const SINCE = addDays(utcDayOf(Date.now()), -3)
const TINY = { calls: 5, rows: 2 }
const CALLS = 120
/** 100 prompt tokens at 1 USD a million and 20 generated ones at 2. */
const EACH = 140_000_000n

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())

async function count(calls: number): Promise<void> {
  const producer = newProducer()
  const entries = Array.from({ length: calls }, (_, index) =>
    aCandidate(
      producer,
      index + 1,
      aRecord({
        arrivedAtMs: Date.parse(`${addDays(SINCE, index % 3)}T12:00:00Z`),
        clientId: `cli_${index % 7}`,
        model: 'our-model',
        reportedModel: 'our-model',
        requestedModel: 'our-model',
        costPico: null,
        priceId: null,
        unpricedReason: 'no_price',
      }),
    ),
  )
  await ledger.rollUp('test:calls', entries)
}

async function adjusted(): Promise<{ pico: bigint; later: number; adjustments: number; applied: number }> {
  const { rows } = await ledger.pool.query(
    `select coalesce(sum(adjusted_pico), 0)::text as pico, coalesce(sum(priced_later), 0)::int as later,
       (select count(*)::int from tallygate.adjustments) as adjustments,
       (select count(applied_at)::int from tallygate.repricing_rules) as applied
     from tallygate.daily_usage`,
  )
  return { ...rows[0], pico: BigInt(rows[0].pico) }
}

test('a repricing that kill -9 cuts has its rule, and the same command brings the rest to it', async () => {
  await count(CALLS)
  const script = `
    import { reprice } from './src/corrections/reprice.ts'
    import { openPostgres } from './src/store/connection/postgres.ts'
    import { orderTo } from './test/corrections/repricing-order.ts'
    const log = { info() {}, warn() {}, error() {} }
    const pool = openPostgres(process.env.URL, { max: 1, statementTimeoutMs: 9000, applicationName: 'cut', log })
    let before = 0, parts = 0, isWriting = false
    const onProgress = (_day, calls) => {
      if (calls < before) isWriting = true
      before = calls
      if (isWriting && (parts += 1) === 7) process.kill(process.pid, 'SIGKILL')
    }
    await reprice(pool, orderTo('our-model', '${SINCE}'), { partSize: ${JSON.stringify(TINY)}, onProgress })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, URL: ledger.url },
  })
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const signal = await new Promise((resolve) => child.once('exit', (_code, by) => resolve(by)))
  expect([signal, errors]).toEqual(['SIGKILL', ''])

  const cut = await adjusted()
  expect(cut).toMatchObject({ adjustments: 1, applied: 0 })
  expect(cut.pico > 0n && cut.pico < BigInt(CALLS) * EACH).toBe(true)
  expect(cut.pico).toBe(BigInt(cut.later) * EACH)
  // What comes in before it goes on is priced by the rule.
  await count(9)
  expect((await adjusted()).later).toBe(cut.later + 9)
  expect((await verifyLedger(ledger.pool, SINCE)).differences).toEqual([])

  expect(await reprice(ledger.pool, orderTo('our-model', SINCE), { partSize: TINY })).toMatchObject({
    kind: 'changed',
  })
  const all = { pico: BigInt(CALLS + 9) * EACH, later: CALLS + 9, adjustments: 1, applied: 1 }
  expect(await adjusted()).toEqual(all)
  expect((await verifyLedger(ledger.pool, SINCE)).differences).toEqual([])
  // Done: another changes nothing.
  expect(await reprice(ledger.pool, orderTo('our-model', SINCE))).toMatchObject({ kind: 'unchanged' })
  expect(await adjusted()).toEqual(all)
})
