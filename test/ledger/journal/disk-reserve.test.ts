import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DiskReserve } from '../../../src/ledger/journal/journal-store.ts'
import { testFolder } from '../support/folders.ts'

test('the reserve really holds its space, gives it up at once, and can be made again', async () => {
  const path = join(testFolder(), 'reserve')
  const reserve = new DiskReserve(path)
  expect(reserve.held).toBe(false)
  expect(await Promise.all([reserve.allocate(), reserve.allocate()])).toEqual([true, true])
  const { size, blocks, mode } = statSync(path)
  expect([size, mode & 0o777]).toEqual([4 * 1024 * 1024, 0o600])
  expect(blocks * 512).toBeGreaterThanOrEqual(size)
  expect([reserve.release(), reserve.release()]).toEqual([true, false])
  expect(existsSync(path)).toBe(false)
  expect(await reserve.allocate()).toBe(true)
  expect(reserve.held).toBe(true)
})

test('a disk that does not take it leaves nothing to give up', async () => {
  const reserve = new DiskReserve(join(testFolder(), 'gone', 'reserve'))
  expect(await reserve.allocate()).toBe(false)
  expect([reserve.held, reserve.release()]).toEqual([false, false])
})
