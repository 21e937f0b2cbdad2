import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  BILLED_UNITS,
  countsBy,
  NO_UNITS,
  NO_USAGE,
  TOKEN_CLASSES,
  TOKEN_COLUMNS,
  TOKEN_FIELDS,
  UNIT_COLUMNS,
  UNIT_DIMENSIONS,
} from '../../src/call/usage.ts'
import { buildLinearPrice } from '../../src/pricing/price.ts'
import { contradiction } from '../../src/pricing/price-contradiction.ts'
import { costOf, costOfSums, type UsageSums } from '../../src/pricing/price-cost.ts'
import type { LinearDefinition } from '../../src/pricing/price-definition.ts'
import { RATE_CLASSES } from '../../src/pricing/price-rates.ts'

const RATES = Object.fromEntries(RATE_CLASSES.map((name, index) => [name, BigInt(1_000 + index ** 3)]))
const DEFINITION: LinearDefinition = {
  basis: 'linear',
  source: 'made',
  provider: 'made',
  model: 'made',
  from: null,
  context: null,
  hours: null,
  serviceTier: null,
  serviceTierPriced: true,
  factor: '1',
  variant: null,
  rates: RATES,
}

test('every rate is that of one count, and of the request', () => {
  const rates = [...TOKEN_FIELDS, ...UNIT_DIMENSIONS].map(({ rate }) => rate)
  expect([...rates, 'request'].sort()).toEqual([...RATE_CLASSES].sort())
  expect(new Set(rates).size).toBe(rates.length)
})

test.each(TOKEN_CLASSES)('%s have a part in the cost, and must be whole numbers from 0 up', (name) => {
  const price = buildLinearPrice(DEFINITION)
  const one = { ...NO_USAGE, [name]: 1 }
  const isFree = name === 'cacheWrite5mTokens'
  expect(costOf(price, one, NO_UNITS) === costOf(price, NO_USAGE, NO_UNITS)).toBe(isFree)
  expect(contradiction(price.terms, { ...NO_USAGE, [name]: -1 }, NO_UNITS, false)).not.toBeNull()
  expect(contradiction(price.terms, { ...NO_USAGE, [name]: 0.5 }, NO_UNITS, false)).not.toBeNull()
})

test.each(BILLED_UNITS)('%s have a part in the cost, and must be whole numbers from 0 up', (name) => {
  const price = buildLinearPrice(DEFINITION)
  const rate = UNIT_DIMENSIONS.find((unit) => unit.name === name)?.rate ?? ''
  const cost = costOf(price, NO_USAGE, { ...NO_UNITS, [name]: 3 }) - costOf(price, NO_USAGE, NO_UNITS)
  expect(cost).toBe(3n * (RATES[rate] ?? 0n))
  expect(contradiction(price.terms, NO_USAGE, { ...NO_UNITS, [name]: -1 }, false)).not.toBeNull()
})

test('the fast and the exact way agree for all counts at once', () => {
  const price = buildLinearPrice(DEFINITION)
  const usage = countsBy(TOKEN_CLASSES, (name) => 1_000 + TOKEN_CLASSES.indexOf(name))
  const units = countsBy(BILLED_UNITS, (name) => 2_000 + BILLED_UNITS.indexOf(name))
  const sums: UsageSums = {
    requests: 1n,
    ...countsBy(TOKEN_CLASSES, (name) => BigInt(usage[name])),
    ...countsBy(BILLED_UNITS, (name) => BigInt(units[name])),
  }
  expect(price.terms.fast).not.toBeNull()
  expect(costOf(price, usage, units)).toBe(costOfSums(price, sums))
})

test('every count has its column in both tables', () => {
  const folder = new URL('../../src/store/migrations/', import.meta.url)
  const sql = readdirSync(folder)
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n')
  for (const column of [...TOKEN_COLUMNS, ...UNIT_COLUMNS]) {
    expect(tableOf(sql, 'daily_usage').match(new RegExp(`\\b${column} bigint\\b`, 'g')), column).toHaveLength(
      1,
    )
    expect(tableOf(sql, 'calls').match(new RegExp(`\\b${column} bigint[,;\\n]`, 'g')), column).toHaveLength(1)
  }
})

/** What the migrations say of the columns of a table: where it is made, the last time, and where it gets more. */
function tableOf(sql: string, table: string): string {
  const made = [...sql.matchAll(new RegExp(`^create table ${table} \\(.*?^\\)`, 'gms'))].at(-1)
  if (made === undefined) throw new Error(`no migration makes ${table}`)
  const later = sql.slice(made.index + made[0].length)
  return [made[0], ...(later.match(new RegExp(`^alter table ${table}$.*?;`, 'gms')) ?? [])].join('\n')
}
