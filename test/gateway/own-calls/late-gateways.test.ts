import { expect, test } from 'vitest'
import { LateGateways } from '../../../src/gateway/own-calls/own-calls.ts'
import { DeadlineError } from '../../../src/lib/deadline.ts'

test('a Postgres that is silent keeps no query waiting: it is not known who is late', async () => {
  const silent = new Promise<never>(() => {})
  const late = new LateGateways({ ownMs: () => 0, selectLags: () => silent })
  const asked = [late.readMs(), late.readNames()]
  await Promise.all(asked.map((answer) => expect(answer).rejects.toThrow(DeadlineError)))
})

test('one answer serves the queries that come with it, and an answer that failed none after it', async () => {
  let asked = 0
  const late = new LateGateways({
    ownMs: () => 0,
    selectLags: async () => {
      asked += 1
      if (asked === 1) throw new Error('away')
      return [{ gateway: 'other', oldestMs: 6_000 }]
    },
  })
  await expect(late.readMs()).rejects.toThrow('away')
  expect(await Promise.all([late.readMs(), late.readNames()])).toEqual([expect.any(Number), ['other']])
  expect(asked).toBe(2)
})
