import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Reserve } from '../../../src/ledger/journal/disk-reserve.ts'
import { testFolder } from '../support/folders.ts'

test('the reserve really holds its space, gives it up at once, and can be made again', async () => {
  const path = join(testFolder(), 'reserve')
  const reserve = new Reserve(path)
  expect(reserve.held).toBe(false)
  expect(await Promise.all([reserve.make(), reserve.make()])).toEqual([true, true])
  const { size, blocks, mode } = statSync(path)
  expect([size, mode & 0o777]).toEqual([4 * 1024 * 1024, 0o600])
  expect(blocks * 512).toBeGreaterThanOrEqual(size)
  expect([reserve.give(), reserve.give()]).toEqual([true, false])
  expect(existsSync(path)).toBe(false)
  expect(await reserve.make()).toBe(true)
  expect(reserve.held).toBe(true)
})

test('a disk that does not take it leaves nothing to give up', async () => {
  const reserve = new Reserve(join(testFolder(), 'gone', 'reserve'))
  expect(await reserve.make()).toBe(false)
  expect([reserve.held, reserve.give()]).toEqual([false, false])
})
