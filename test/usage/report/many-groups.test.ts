// @long: 10,000 clients in 200 groups, 60 days of each
import { afterAll, beforeAll, expect, test } from 'vitest'
import { selectGroupSums } from '../../../src/usage/report/group-sums.ts'
import { readReport } from '../../../src/usage/report/read-report.ts'
import type { ReportQuery } from '../../../src/usage/report/report-query.ts'
import { closeDay, closeMonth } from '../../../src/usage/summaries/summarise.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'

const PERIOD = { fromDay: '2026-09-01', toDay: '2026-10-31' }
const DAYS = 61
const CLIENTS = 10_000

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(0)
  const { pool } = ledger
  await pool.query('select tallygate.add_usage_months($1)', [['2026-09-01', '2026-10-01']])
  await pool.query(`
    insert into tallygate.clients (id, name, version) select 'cli_' || i, 'client ' || i, 0 from generate_series(1, 10000) i;
    insert into tallygate.groups (id, name) select 'grp_' || i, 'group ' || i from generate_series(1, 200) i;
    -- One organization, 9 departments, 40 sections, 150 teams.
    insert into tallygate.group_members (id, from_day, group_id, version)
    select 'grp_' || i, '-infinity', case when i = 1 then null when i <= 10 then 'grp_1'
      when i <= 50 then 'grp_' || 2 + i % 9 else 'grp_' || 11 + i % 40 end, 0 from generate_series(1, 200) i;
    insert into tallygate.group_members (id, from_day, group_id, version)
    select 'cli_' || i, '2026-01-01', 'grp_' || 51 + i % 150, 0 from generate_series(1, 10000) i;
    -- One in ten moves in October.
    insert into tallygate.group_members (id, from_day, group_id, version)
    select 'cli_' || i, date '2026-10-01' + i % 31, 'grp_' || 51 + i % 149, 0 from generate_series(1, 10000, 10) i`)
  const { rows } = await pool.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'tallygate' and table_name = 'daily_usage'`,
  )
  const own: Readonly<Record<string, string>> = {
    day: `date '${PERIOD.fromDay}' + d`,
    client_id: `'cli_' || i`,
    key_id: `'key_' || i`,
    ...{ model: `'gpt-4o'`, upstream: `'openai'`, provider: `'openai'`, price_id: `''` },
    ...{ requests: '1 + i % 7', cost_pico: '1000000 + i * 61 + d' },
  }
  const values = rows.map(({ name, type }) => own[name] ?? (type === 'ARRAY' ? `'{}'` : '0'))
  await pool.query(`insert into tallygate.daily_usage (${rows.map(({ name }) => name).join(', ')})
    select ${values.join(', ')} from generate_series(0, ${DAYS - 1}) d, generate_series(1, ${CLIENTS}) i`)
  const { rows: days } = await pool.query<{ day: string }>('select distinct day from tallygate.daily_usage')
  for (const { day } of days) await closeDay(pool, day)
  for (const month of ['2026-09-01', '2026-10-01']) expect(await closeMonth(pool, month)).toBe(true)
  await pool.query('analyze')
}, 600_000)
afterAll(() => ledger.drop())

const asked: ReportQuery = {
  period: PERIOD,
  before: null,
  groupBy: ['group'],
  filters: [],
  ...{ interval: null, top: 10, sort: 'cost', order: 'desc', search: null, limit: 1_000, after: null },
}

async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const startedAtMs = performance.now()
  const result = await work()
  console.info(`${what}: ${Math.round(performance.now() - startedAtMs)} ms`)
  return result
}

test('sums of 10,000 clients in 200 groups add up, on each level', async () => {
  const read = async (what: string, changes: Partial<ReportQuery>) => {
    const answer = await timed(what, () => readReport(ledger.pool, { ...asked, ...changes }, () => false))
    if (answer.kind !== 'read') throw new Error('nothing is held')
    return answer.report
  }
  const whole = await read('all, without groups', { groupBy: [] })
  const top = await read('the topmost groups', {})
  expect(top.rows.map(({ now }) => now.costPico)).toEqual([whole.totals.now.costPico])
  const departments = await read('departments of the organization', {
    filters: [{ group: 'group', ids: ['grp_1'] }],
  })
  expect(departments.rows.reduce((sum, { now }) => sum + now.costPico, 0n)).toBe(whole.totals.now.costPico)
  expect(departments.rows.length).toBe(9)
  await read('departments by day', { filters: [{ group: 'group', ids: ['grp_1'] }], interval: 'day' })
  await read('clients of a team', { groupBy: ['client'], filters: [{ group: 'group', ids: ['grp_60'] }] })
  const nodes = await timed('all nodes', () => selectGroupSums(ledger.pool, PERIOD))
  expect(nodes.find(({ group }) => group?.id === 'grp_1')?.sums.costPico).toBe(whole.totals.now.costPico)
  expect(nodes.reduce((sum, { own }) => sum + own.costPico, 0n)).toBe(whole.totals.now.costPico)
})
