import { expect, test } from 'vitest'
import { MAX_COUNT, NO_UNITS, NO_USAGE, TOKEN_CLASSES } from '../../src/call/usage.ts'
import { LATENCY_BUCKETS } from '../../src/domain/latency.ts'
import { MAX_TOTALLED, totalByDay, withoutUsage } from '../../src/usage/total-by-day.ts'
import { aRecord } from '../rollup/records.ts'

test('calls are totalled apart by day, client, key, model, upstream and price, in that order of the key', () => {
  const day = Date.parse('2026-03-04T00:00:00Z')
  const records = [
    aRecord({ arrivedAtMs: day + 86_400_000 }),
    aRecord({ arrivedAtMs: day }),
    aRecord({ arrivedAtMs: day + 86_399_999 }),
    aRecord({ arrivedAtMs: day, clientId: 'cli_b' }),
    aRecord({ arrivedAtMs: day, keyId: 'key_b' }),
    aRecord({ arrivedAtMs: day, model: 'other' }),
    aRecord({ arrivedAtMs: day, upstream: 'azure' }),
    aRecord({ arrivedAtMs: day, priceId: null, costPico: null }),
  ]
  const totals = totalByDay(records).flat()
  expect(totals.map(({ requests }) => requests).sort()).toEqual([1, 1, 1, 1, 1, 1, 2])
  const keys = totals.map((t) => [t.clientId, t.day, t.keyId, t.model, t.upstream, t.priceId].join('\0'))
  expect(keys).toEqual([...keys].sort())
})

test('each kind of usage, failure and price is counted apart', () => {
  const [total] = totalByDay([
    aRecord({ usageSource: 'reported' }),
    aRecord({ usageSource: 'partial', outcome: 'client_aborted' }),
    aRecord({ usageSource: 'estimated', outcome: 'interrupted' }),
    aRecord({ usageSource: 'none', usage: NO_USAGE, costPico: '0', status: 404 }),
    aRecord({ usageSource: 'invalid', usage: NO_USAGE, costPico: '0', failedInBody: true }),
    aRecord({ outcome: 'upstream_error', status: null, latencyUs: null, costPico: '0', usage: NO_USAGE }),
  ]).flat()
  expect(total).toMatchObject({
    requests: 6,
    reported: 2,
    partial: 1,
    estimated: 1,
    withoutUsage: 1,
    invalid: 1,
    errors: 3,
    unpriced: 0,
    estimatedInputTokens: 100,
    estimatedOutputTokens: 20,
    latencyCount: 5,
    costPico: 1_350_000_000n,
  })
})

test('what has no price adds a call and tokens, and nothing to the cost', () => {
  const [total] = totalByDay([aRecord({ costPico: null, priceId: null })]).flat()
  expect(total).toMatchObject({ requests: 1, unpriced: 1, costPico: 0n, priceId: '' })
  expect(total?.inputTokens).toBe(100)
})

test('a WebSocket session has no latency', () => {
  const [total] = totalByDay([aRecord({ webSocket: true, latencyUs: 9_000_000 })]).flat()
  expect(total).toMatchObject({ requests: 1, latencyCount: 0, latencyUsSum: 0n })
  expect(total?.latencyBuckets).toEqual(new Array(LATENCY_BUCKETS).fill(0))
})

test('the largest counts of more calls than one total takes are still exact', () => {
  const usage = { ...NO_USAGE, ...Object.fromEntries(TOKEN_CLASSES.map((name) => [name, MAX_COUNT])) }
  const record = aRecord({ usage, latencyUs: Number.MAX_SAFE_INTEGER, costPico: '9'.repeat(30) })
  const calls = 2 * MAX_TOTALLED + 1
  const other = aRecord({ clientId: 'cli_other' })
  const statements = totalByDay([...new Array(calls).fill(record), other])
  expect(statements.map((totals) => totals.map(({ requests }) => requests))).toEqual([
    [1, 1],
    [MAX_TOTALLED],
    [MAX_TOTALLED],
  ])
  const totals = statements.flat().filter(({ clientId }) => clientId === record.clientId)
  for (const { inputTokens } of totals) expect(Number.isSafeInteger(inputTokens)).toBe(true)
  const sumOf = (value: (total: (typeof totals)[number]) => bigint) =>
    totals.reduce((sum, total) => sum + value(total), 0n)
  expect(sumOf(({ inputTokens }) => BigInt(inputTokens))).toBe(BigInt(calls) * BigInt(MAX_COUNT))
  expect(sumOf(({ latencyUsSum }) => latencyUsSum)).toBe(BigInt(calls) * BigInt(Number.MAX_SAFE_INTEGER))
  expect(sumOf(({ costPico }) => costPico)).toBe(BigInt(calls) * BigInt('9'.repeat(30)))
})

test('in each statement a row stands once, in the order in which rows are locked, and all are in the first', () => {
  const clients = ['cli_c', 'cli_a', 'cli_b']
  const records = clients.flatMap((clientId, index) =>
    new Array(1 + index * MAX_TOTALLED).fill(aRecord({ clientId })),
  )
  const statements = totalByDay(records)
  expect(statements.map((totals) => totals.map(({ clientId }) => clientId))).toEqual([
    ['cli_a', 'cli_b', 'cli_c'],
    ['cli_a', 'cli_b'],
    ['cli_b'],
  ])
})

test('a response reported again is a request without tokens, units, cost or price', () => {
  const record = withoutUsage(aRecord({ responseId: 'resp_1' }))
  const [total] = totalByDay([record]).flat()
  expect(total).toMatchObject({ requests: 1, withoutUsage: 1, reported: 0, unpriced: 0, costPico: 0n })
  expect(TOKEN_CLASSES.every((name) => total?.[name] === 0)).toBe(true)
  expect(record.units).toBe(NO_UNITS)
})
