import pg from 'pg'
import { expect, test } from 'vitest'
import { untilAllDone } from '../../src/store/connection/postgres.ts'

function refused(code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(code, 0, 'error'), { code })
}

test('all results come in the order of the work, whichever ends first', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const all = untilAllDone([promise, Promise.resolve(2)])
  resolve('one')
  expect(await all).toEqual(['one', 2])
})

test('it does not end before the last of them has, also when an earlier one failed', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let hasEnded = false
  const all = untilAllDone([Promise.reject(refused('23505')), promise]).catch(() => {
    hasEnded = true
  })
  await new Promise((done) => setImmediate(done))
  expect(hasEnded).toBe(false)
  resolve()
  await all
  expect(hasEnded).toBe(true)
})

test('what is thrown is the error that the others followed from, wherever it stands', async () => {
  const cause = refused('23514')
  const followed = refused('25P02')
  await expect(untilAllDone([Promise.reject(followed), Promise.reject(cause)])).rejects.toBe(cause)
  await expect(untilAllDone([Promise.reject(cause), Promise.reject(followed)])).rejects.toBe(cause)
  await expect(untilAllDone([Promise.reject(followed), Promise.resolve(1)])).rejects.toBe(followed)
})

test('a broken connection is an error like others', async () => {
  const broken = new Error('Connection terminated unexpectedly')
  await expect(untilAllDone([Promise.reject(refused('25P02')), Promise.reject(broken)])).rejects.toBe(broken)
})
