import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addDays } from '../../../src/domain/utc-day.ts'
import { addRefusedCalls } from '../../../src/limits/table/refused-calls.ts'
import { inSnapshot } from '../../../src/store/connection/postgres.ts'
import { readReport } from '../../../src/usage/report/read-report.ts'
import { parseReportCursor, type ReportQuery } from '../../../src/usage/report/report-query.ts'
import { closeDay, closeMonth } from '../../../src/usage/summaries/summarise.ts'
import { moveAbout, PlainGroups, randomMoves } from '../../keys/groups/random-groups.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aRecord } from '../../rollup/records.ts'
import { addRecords, DAYS, FIRST_DAY, record, take } from '../summaries/random-usage.ts'
import { type PlainRows, selectPlainRows } from './plain-report.ts'
import { expectExactOn, reportQuery } from './random-reports.ts'

/** Fixed in the usual run; another one repeats a failure or looks further. */
const SEED = Number(process.env.REPORTS_SEED ?? 4_711)
const FEBRUARY = { fromDay: '2026-02-01', toDay: '2026-02-28' }

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(0)
  await ledger.pool.query(`insert into tallygate.clients (id, name, version) values ('cli_a', 'acme', 0)`)
  const [most = []] = fc.sample(fc.array(record, { minLength: 150, maxLength: 150 }), {
    seed: SEED,
    numRuns: 1,
  })
  await addRecords(ledger, most)
  await take(ledger, { kind: 'credit', day: '2026-02-03', clientId: 'cli_a', pico: -(10n ** 9n) })
  await take(ledger, { kind: 'close', days: Array.from({ length: 28 }, (_, n) => addDays('2026-02-01', n)) })
  // Of these days some are read from their sums, and some from their rows.
  const [more = []] = fc.sample(fc.array(record, { minLength: 12, maxLength: 12 }), { seed: 7, numRuns: 1 })
  await addRecords(ledger, more)
  const unnamed = { clientId: '', keyId: '', model: '', limitId: '' }
  await addRefusedCalls(ledger.pool, [
    { ...unnamed, day: '2026-02-02', reason: 'unknown_key', calls: 7 },
    {
      ...unnamed,
      day: '2026-02-02',
      clientId: 'cli_a',
      keyId: 'key_cli_a_1',
      reason: 'key_revoked',
      calls: 3,
    },
    { ...unnamed, day: '2026-03-01', clientId: 'cli_c', model: 'gpt-4o', reason: 'budget', calls: 2 },
  ])
})
afterAll(() => ledger.drop())

test('100 random reports are what daily_usage adds up to, to the picodollar', async () => {
  const queries = fc.sample(reportQuery(), { seed: SEED, numRuns: 100 })
  await inSnapshot(ledger.pool, async (session) => {
    const rows = await selectPlainRows(session)
    for (const query of queries) await expectExactOn(session, query, rows)
  })
})

test('a percentile is in the bucket that the plain sums of a histogram reach it in', async () => {
  const calls = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 10n ** 12n - 1n }))
  const histograms = fc.sample(
    fc
      .array(calls, { minLength: 1, maxLength: 44 })
      .map((counts) => counts.map((count) => [count, count % 9n])),
    { seed: SEED, numRuns: 100 },
  )
  const shares = [50n, 95n, 100n] as const
  const cases = histograms.flatMap((counts) =>
    [0, 1].flatMap((form) => shares.map((share) => ({ counts: counts.map((of) => of[form] ?? 0n), share }))),
  )
  const { rows } = await ledger.pool.query<{ place: number | null }>(
    `select tallygate.latency_place(buckets, share / 100) as place
     from unnest($1::numeric[], $2::numeric[]) with ordinality as c (buckets, share, nr) order by nr`,
    [
      cases.map(({ counts }) => `${counts.reduceRight((packed, count) => packed * 10n ** 12n + count, 0n)}`),
      cases.map(({ share }) => `${share}`),
    ],
  )
  expect(rows.map(({ place }) => place)).toEqual(cases.map(({ counts, share }) => plainPlace(counts, share)))
})

/** @param share Of 100. */
function plainPlace(counts: readonly bigint[], share: bigint): number | null {
  const counted = counts.reduce((sum, count) => sum + count, 0n)
  if (counted === 0n) return null
  let within = 0n
  return counts.findIndex((count) => {
    within += count
    return within * 100n >= share * counted
  })
}

test('as clients and groups move about, each group is what its days add up to, however deep', async () => {
  const plain = new PlainGroups(FIRST_DAY, DAYS)
  // In March none moves, so its sum is read.
  const [moves = []] = fc.sample(randomMoves(30, 50), { seed: SEED, numRuns: 1 })
  await moveAbout(ledger.pool, plain, 7, ['cli_a', 'cli_b', 'cli_c'], moves, FIRST_DAY)
  for (let day = '2026-03-01'; day < '2026-04-01'; day = addDays(day, 1)) await closeDay(ledger.pool, day)
  expect(await closeMonth(ledger.pool, '2026-03-01')).toBe(true)
  const queries = fc
    .sample(reportQuery(plain.ids), { seed: SEED, numRuns: 90 })
    .filter(({ groupBy, filters }) => [...groupBy, ...filters.map(({ group }) => group)].includes('group'))
  await inSnapshot(ledger.pool, async (session) => {
    const rows = await selectPlainRows(session, (clientId, day) => plain.chain(clientId, day))
    for (const query of queries) await expectExactOn(session, query, rows)
    // Every node is the sum of its parts, on each day.
    for (const id of plain.ids) {
      const of = async (groupBy: ReportQuery['groupBy'], interval: 'day' | null) => {
        const filters = [{ group: 'group' as const, ids: [id] }]
        const query = {
          ...asked,
          period: { fromDay: FIRST_DAY, toDay: '2026-04-04' },
          filters,
          groupBy,
          interval,
        }
        return await expectExactOn(session, query, rows)
      }
      const report = await of(['group'], 'day')
      const parts = report.series?.groups.map(({ sums }) => sums) ?? []
      const whole = report.series?.starts.map((day) => plainDay(rows, id, day))
      expect(
        report.series?.starts.map((_, place) =>
          parts.reduce((sum, part) => sum + (part[place]?.costPico ?? 0n), 0n),
        ),
      ).toEqual(whole)
    }
  })
})

function plainDay(rows: PlainRows, groupId: string, day: string): bigint {
  return rows.usage
    .filter((row) => row.day === day && rows.chainOf(row.client_id ?? '', day).includes(groupId))
    .reduce((sum, row) => sum + BigInt(row.cost_pico ?? '0') + BigInt(row.adjusted_pico ?? '0'), 0n)
}

const asked: ReportQuery = {
  period: FEBRUARY,
  before: null,
  groupBy: ['client', 'model'],
  filters: [],
  interval: null,
  top: 10,
  sort: 'cost',
  order: 'desc',
  search: null,
  limit: 100,
  after: null,
}
const read = async (changes: Partial<ReportQuery>) => {
  const answer = await readReport(ledger.pool, { ...asked, ...changes }, () => false)
  if (answer.kind !== 'read') throw new Error('nothing is held')
  return answer
}

test.each([
  { sort: 'cost', order: 'desc' },
  { sort: 'p95', order: 'asc' },
  { sort: 'first_byte_p50', order: 'desc' },
  { sort: 'error_rate', order: 'asc' },
] as const)('page by page, by %o, the rows are those of one page', async (order) => {
  const whole = await read(order)
  expect(whole.report.rows.length).toBeGreaterThan(4)
  const paged: unknown[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = { ...asked, ...order }
    const after = cursor === '' ? null : parseReportCursor(cursor, query)
    const page = await read({ ...order, limit: 2, after })
    paged.push(...page.report.rows)
    cursor = page.next
  }
  expect(paged).toEqual(whole.report.rows)
})

test('a client whose calls were all refused has a row, and unknown keys stand together without a name', async () => {
  const { report } = await read({ groupBy: ['client'], sort: 'refused' })
  expect(report.rows.slice(0, 2).map(({ names, refused }) => [names[0], refused])).toEqual([
    [{ id: '', name: null }, 7n],
    [{ id: 'cli_a', name: 'acme' }, 3n],
  ])
})

test('q finds names and ids, whatever their case, and takes its wildcards as they are', async () => {
  const found = async (search: string) =>
    (await read({ groupBy: ['client'], search })).report.rows.map(({ end }) => end.ids[0]).sort()
  expect(await found('ACM')).toEqual(['cli_a'])
  expect(await found('li_')).toEqual(['cli_a', 'cli_b', 'cli_c'])
  expect(await found('%')).toEqual([])
})

test('an answer that is held is not read again until something changes it', async () => {
  const { tag } = await read({})
  const again = async () => (await readReport(ledger.pool, asked, (held) => held === tag)).kind
  expect(await again()).toBe('same')
  // Summing days up changes no answer.
  await closeDay(ledger.pool, '2026-03-03')
  expect(await again()).toBe('same')
  for (const change of [
    () => addRecords(ledger, [aRecord({ arrivedAtMs: Date.parse('2026-02-05T12:00:00Z') })]),
    () => take(ledger, { kind: 'credit', day: '2026-02-05', clientId: 'cli_b', pico: 1n }),
    () => ledger.pool.query('update tallygate.key_version set version = version + 1'),
    () => ledger.pool.query(`update tallygate.refusals set calls = calls + 1 where day = '2026-02-02'`),
    () => ledger.pool.query(`insert into tallygate.prices (price_id, definition) values ('later', '{}')`),
  ]) {
    const held = (await read({})).tag
    await change()
    const answer = await readReport(ledger.pool, asked, (tag) => tag === held)
    expect(answer.kind).toBe('read')
    expect(answer.tag).not.toBe(held)
  }
  expect((await read({ order: 'asc' })).tag).not.toBe((await read({})).tag)
})

test('the rows of latencies and refusals do not grow with the calls', async () => {
  const rows = async () =>
    (
      await ledger.pool.query(
        `select (select count(*) from tallygate.daily_latency where day = '2026-02-20')::int as latencies,
           (select max(pg_column_size(l.*)) from tallygate.daily_latency l where day = '2026-02-20')::int as bytes`,
      )
    ).rows[0]
  const calls = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      aRecord({
        arrivedAtMs: Date.parse('2026-02-20T12:00:00Z'),
        keyId: `key_${index % 50}`,
        upstream: `upstream-${index % 5}`,
        latencyUs: 1_000 * 2 ** (index % 22),
        ttftUs: 500 * 2 ** (index % 20),
      }),
    )
  await addRecords(ledger, calls(100))
  const before = await rows()
  await addRecords(ledger, calls(2_000))
  const after = await rows()
  expect(after.latencies).toBe(before.latencies)
  // Two numbers of at most 44 counts of 12 digits, whatever they count.
  expect(after.bytes).toBeLessThan(800)
})
