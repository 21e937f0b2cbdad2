import { afterAll, beforeAll, expect, test } from 'vitest'
import { usageShapeOf } from '../../../src/usage/calls/call-kinds.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'

let ledger: LedgerDatabase
beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())

test('digits stand apart from what usages have alike', () => {
  expect(usageShapeOf('{"input_tokens":12,"cost":0.0034,"ephemeral_5m":0,"tier":"a1"}')).toEqual({
    shape: '{"input_tokens":#,"cost":#.#,"ephemeral_#m":#,"tier":"a#"}',
    digits: '12,0,0034,5,0,1',
  })
})

test.each([
  '',
  '0',
  '{}',
  '12{',
  '}7',
  '{"a":-1.50e-07,"b":[1,2,,3],"c":"0012","d":null}',
  '{"a":"1,2","b":"\u0001\u0661\u0967","emoji😀":9007199254740993}',
  `{"a":${'9'.repeat(400)}}`,
])('PostgreSQL puts %j together again as it was', async (text) => {
  const { rows } = await ledger.pool.query('select tallygate.usage_text($1, $2) as text', [
    usageShapeOf(text)?.shape,
    usageShapeOf(text)?.digits,
  ])
  expect(rows).toEqual([{ text }])
})

test('what has a # of its own is left whole', () => {
  expect(usageShapeOf('{"note":"#1"}')).toBeNull()
})
