import { expect, onTestFinished, test, vi } from 'vitest'
import { SharedRefresh } from '../../src/lib/watched-table.ts'

test('a caller gets a refresh that begins after its call, shared with all who call before it begins', async () => {
  const begun: PromiseWithResolvers<number>[] = []
  const refresh = new SharedRefresh(() => {
    const run = Promise.withResolvers<number>()
    begun.push(run)
    return run.promise
  }, 0)
  const first = [refresh.request(), refresh.request()]
  await expect.poll(() => begun.length).toBe(1)
  const second = [refresh.request(), refresh.request()]
  begun[0]?.resolve(1)
  expect(await Promise.all(first)).toEqual([1, 1])
  await expect.poll(() => begun.length).toBe(2)
  begun[1]?.resolve(2)
  expect(await Promise.all(second)).toEqual([2, 2])
})

test('two refreshes never begin closer together than the spacing', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const beginnings: number[] = []
  const refresh = new SharedRefresh(async () => beginnings.push(performance.now()), 20)
  for (let round = 0; round < 5; round++) {
    const ended = refresh.request()
    await vi.advanceTimersToNextTimerAsync()
    await ended
  }
  const gaps = beginnings.slice(1).map((at, index) => at - (beginnings[index] ?? 0))
  expect(gaps).toEqual([20, 20, 20, 20])
})
