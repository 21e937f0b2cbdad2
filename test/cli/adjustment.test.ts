import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Environment } from '../../src/config/config.ts'
import { addDays } from '../../src/domain/utc-day.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { json, run } from './command-line.ts'

const TODAY = holdClockAtNoon()

let ledger: LedgerDatabase
let env: Environment

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  env = { DATABASE_URL: ledger.url }
  await json(env, 'client', 'create', 'acme')
})
afterAll(() => ledger.drop())

test('a credit is in the cost of its day, shown under its model, and in the books with its reason', async () => {
  const yesterday = addDays(TODAY, -1)
  const order = ['adjustment', 'add', '--client', 'acme', '--by', 'ann']
  expect(
    await json(env, ...order, '--amount-usd', '-12.50', '--reason', 'outage', '--day', yesterday),
  ).toMatchObject({ amount_usd: '-12.5', before_usd: '0', after_usd: '-12.5', day: yesterday, model: null })
  const small = ['--amount-usd', '0.000000000001', '--reason', 'rounding', '--model', 'gpt-4o']
  await json(env, ...order, ...small)
  await json(env, ...order, ...small)
  expect(await json(env, 'usage', '--client', 'acme', '--by', 'day,model')).toMatchObject([
    { day: yesterday, model: '(adjustment)', requests: 0, cost_usd: -12.5 },
    { day: TODAY, model: 'gpt-4o', requests: 0, cost_usd: 2e-12 },
  ])
  expect(await json(env, 'adjustment', 'list')).toMatchObject([
    {
      kind: 'credit',
      who: 'ann',
      why: 'rounding',
      before_usd: '0.000000000001',
      after_usd: '0.000000000002',
    },
    { why: 'rounding', amount_usd: '0.000000000001' },
    { why: 'outage', amount_usd: '-12.5', scope: { day: yesterday, model: null }, rows: 1 },
  ])
  expect((await run(env, 'adjustment', 'list', '--limit', '1')).out).toMatch(
    /credit +ann +1 +0.000000000001 +rounding$/m,
  )
})

test('credits have no calls and need none: the books are right with them, and rebuilding keeps them', async () => {
  expect(await json(env, 'ledger', 'verify')).toMatchObject({ ok: true, differences: [] })
  expect(await json(env, 'ledger', 'rebuild', '--day', TODAY)).toMatchObject({ changed: false })
})

test('the user of the command line is known without being named', async () => {
  const order = ['adjustment', 'add', '--client', 'acme', '--amount-usd', '1', '--reason', 'why']
  expect(await json(env, ...order)).toMatchObject({ who: expect.stringMatching(/^\S+$/) })
})

test.each([
  [['--amount-usd', '0'], 2],
  [['--amount-usd', '1e3'], 2],
  [['--amount-usd', '0.0000000000001'], 2],
  [['--amount-usd', '1', '--day', '2026-13-01'], 2],
  [['--amount-usd', '1', '--reason', ' '], 2],
  [['--amount-usd', '1', '--client', 'nobody'], 1],
  [['--amount-usd', '1', '--day', addDays(TODAY, 2)], 2],
] as const)('%j is refused', async (args, code) => {
  const before = await json(env, 'adjustment', 'list')
  const order = ['adjustment', 'add', '--client', 'acme', '--reason', 'x', ...args]
  expect(await run(env, ...order)).toMatchObject({ code, out: '' })
  expect(await json(env, 'adjustment', 'list')).toEqual(before)
})
