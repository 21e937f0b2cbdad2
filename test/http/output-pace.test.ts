import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { OutputPace } from '../../src/http/codings/decode.ts'

const SLICE = 640 * 1024

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('what is within a slice goes on at once, and what is beyond it in a later one', () => {
  const pace = new OutputPace()
  const goOn = vi.fn()
  expect(pace.spend(SLICE - 1, goOn)).toBe(true)
  expect(pace.spend(2 * SLICE, goOn)).toBe(false)
  vi.advanceTimersByTime(10)
  expect(goOn).not.toHaveBeenCalled()
  vi.advanceTimersByTime(10)
  expect(goOn).toHaveBeenCalledOnce()
})

test('as many go on in a slice as it has room for, the first ones first', () => {
  const pace = new OutputPace()
  const resumed: number[] = []
  for (let at = 0; at < 100; at += 1) pace.spend(SLICE, () => void resumed.push(at))
  vi.advanceTimersByTime(10 * 99)
  expect(resumed).toEqual([])
  vi.advanceTimersByTime(10)
  expect(resumed).toEqual(Array.from({ length: 40 }, (_, at) => at))
})

test('who waits no longer is not called, and an idle pace has no timer', () => {
  const pace = new OutputPace()
  const goOn = vi.fn()
  expect(pace.spend(SLICE, goOn)).toBe(false)
  pace.drop(goOn)
  vi.advanceTimersByTime(1_000)
  expect(goOn).not.toHaveBeenCalled()
  expect(vi.getTimerCount()).toBe(0)
})
