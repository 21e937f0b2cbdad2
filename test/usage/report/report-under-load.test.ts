// @long: hundreds of reports while calls, corrections, repricings and sums are written
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rebuildDay } from '../../../src/corrections/rebuild.ts'
import { reprice } from '../../../src/corrections/reprice.ts'
import { addDays, utcDayOf } from '../../../src/domain/utc-day.ts'
import { inSnapshot } from '../../../src/store/connection/postgres.ts'
import { readReportOn } from '../../../src/usage/report/read-report.ts'
import { renderReport } from '../../../src/usage/report/render-report.ts'
import type { ReportQuery } from '../../../src/usage/report/report-query.ts'
import { closeDay } from '../../../src/usage/summaries/summarise.ts'
import { orderTo } from '../../corrections/repricing-order.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { addRecords, DAYS, FIRST_DAY, record, step, take } from '../summaries/random-usage.ts'
import { expectExactOn, reportQuery } from './random-reports.ts'

const SEED = Number(process.env.REPORTS_SEED ?? 4_711)
const REPORTS = Number(process.env.REPORTS ?? 250)
/** So many changes a report at most: more would only keep the reader from its turn. */
const CHANGES_A_REPORT = 3
/** Days of `random-usage.ts` lie months back; those that a repricing and a rebuild need have single calls. */
const LATELY = 5

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(LATELY)
})
afterAll(() => ledger.drop())

const today = utcDayOf(Date.now())

/** Moved by the difference of the days on which both begin. */
function lately(query: ReportQuery): ReportQuery {
  return { ...query, period: { fromDay: addDays(today, -LATELY), toDay: today }, before: null, sort: 'cost' }
}

test(`${REPORTS} reports are exact while all of it is written, and one that is held is the one that is read`, async () => {
  const state = { isOver: false, isQuiet: false, changes: 0, reports: 0 }
  let turn = Promise.withResolvers<void>()
  const next = () => {
    turn.resolve()
    turn = Promise.withResolvers()
  }
  const untilWanted = async () => {
    const isAhead = () => state.changes > state.reports * CHANGES_A_REPORT
    while ((state.isQuiet || isAhead()) && !state.isOver) await turn.promise
  }
  const drawn = fc.sample(fc.tuple(step, fc.array(record, { minLength: 1, maxLength: 8 })), {
    seed: SEED,
    numRuns: 4_000,
  })
  const writer = async (from: number) => {
    for (let index = from; !state.isOver; index += 2) {
      await untilWanted()
      const [change, records] = drawn[index % drawn.length] ?? []
      if (change !== undefined && change.kind !== 'close all') await take(ledger, change)
      const day = addDays(today, -(index % LATELY))
      // As new calls: ids that were counted before count again only under other numbers.
      const fresh = (records ?? []).map((one) => ({
        ...one,
        callId: crypto.randomUUID(),
        arrivedAtMs: Date.parse(`${day}T00:00:01Z`),
      }))
      await addRecords(ledger, fresh)
      state.changes += 1
    }
  }
  const corrector = async () => {
    for (let round = 0; !state.isOver; round += 1) {
      await untilWanted()
      const since = addDays(today, -LATELY + 1)
      const order = orderTo(['gpt-4o', 'claude'][round % 2] ?? '', since)
      await reprice(ledger.pool, { ...order, leaveOut: true }, { partSize: { calls: 40, rows: 5 } })
      await rebuildDay(ledger.pool, { day: since, who: 'test', why: 'test' })
      await closeDay(ledger.pool, addDays(FIRST_DAY, round % DAYS))
    }
  }
  const reader = async () => {
    const held = new Map<string, { readonly tag: string; readonly document: string }>()
    const queries = fc.sample(reportQuery(), { seed: SEED, numRuns: REPORTS })
    let same = 0
    for (const [index, query] of queries.entries()) {
      state.isQuiet = index % 16 >= 12
      state.reports = index + 1
      next()
      await inSnapshot(ledger.pool, async (session) => {
        await expectExactOn(session, index % 2 === 0 ? query : lately(query))
      })
      // Some are asked again and again, with and without changes in between: what a tag stands for is what is read.
      const known = queries[(index >> 4) << 4]
      if (known === undefined) continue
      await inSnapshot(ledger.pool, async (session) => {
        const before = held.get(JSON.stringify(known))
        const answer = await readReportOn(session, known, (tag) => tag === before?.tag)
        const now = await readReportOn(session, known, () => false)
        if (now.kind !== 'read') throw new Error('nothing is held')
        const document = JSON.stringify(renderReport(now.report))
        if (answer.kind === 'same') {
          expect(document).toBe(before?.document)
          same += 1
        }
        held.set(JSON.stringify(known), { tag: now.tag, document })
      })
    }
    return same
  }
  const writing = [writer(0), writer(1), corrector()]
  const same = await reader().finally(() => {
    state.isOver = true
    next()
  })
  await Promise.all(writing)
  // Enough was written, and enough was held, to say so.
  expect(state.changes).toBeGreaterThan(REPORTS / 40)
  expect(same).toBeGreaterThan(REPORTS / 40)
}, 1_800_000)
