import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderCheck, renderTables } from '../../scripts/clickhouse/tables.ts'

test('the tables for ClickHouse have all fields of a call, and the check all columns of its totals', () => {
  expect(readFileSync('examples/clickhouse/tables.sql', 'utf8'), 'npm run clickhouse').toBe(renderTables())
  expect(readFileSync('examples/clickhouse/check.sql', 'utf8'), 'npm run clickhouse').toBe(renderCheck())
})

test('no amount of money passes through a float on its way to ClickHouse', () => {
  const amounts = readFileSync('examples/clickhouse/tables.sql', 'utf8')
    .split('\n')
    .filter((line) => /^ +\w+_usd /.test(line))
  expect(amounts.length).toBeGreaterThan(9)
  for (const amount of amounts) expect(amount).toMatch(/Decimal\(38, 12\)|String/)
  expect(readFileSync('examples/clickhouse/tables.sql', 'utf8')).not.toMatch(/float/i)
})
