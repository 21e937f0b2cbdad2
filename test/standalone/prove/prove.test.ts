// @long: PostgreSQL, Redis, a gateway and a worker, each killed under load
import { afterEach, expect, test } from 'vitest'
import { json, run } from '../../cli/command-line.ts'

const ORDER = ['prove', '--seconds', '10', '--rate', '30']

afterEach(() => {
  delete process.env.STAND_IN_CLAIMS
})

test('nothing is lost or doubled with every part killed', { timeout: 240_000 }, async () => {
  const proof = Object(await json({}, ...ORDER, '--seed', '1'))
  expect(proof).toMatchObject({ lost: 0, doubled: 0, wrong: 0, complaints: [], logs: null })
  expect(proof.counted_usd).toBe(proof.expected_usd)
  expect(Object.values(proof.killed as Record<string, number>).every((times) => times > 0)).toBe(true)
})

test('a call that the provider claims and no book has ends it with 1', { timeout: 240_000 }, async () => {
  process.env.STAND_IN_CLAIMS = '1000000'
  const { code, out } = await run({}, ...ORDER, '--seed', '2')
  expect([code, out]).toEqual([1, expect.stringContaining('lost: 1 (1000000)')])
})
