import { afterEach, expect, test, vi } from 'vitest'
import { atMostEvery } from '../../src/lib/repeat.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('a gate lets the first line through and the next one after the time', () => {
  vi.useFakeTimers()
  const gate = atMostEvery(1_000)
  expect([gate.passes(), gate.passes()]).toEqual([true, false])
  vi.advanceTimersByTime(999)
  expect(gate.passes()).toBe(false)
  vi.advanceTimersByTime(1)
  expect([gate.passes(), gate.passes()]).toEqual([true, false])
})

test('a gate with a longest time waits twice as long after each further line', () => {
  vi.useFakeTimers()
  const gate = atMostEvery(1_000, 4_000)
  const passedAtMs: number[] = []
  for (let atMs = 0; atMs <= 16_000; atMs += 500) {
    if (gate.passes()) passedAtMs.push(atMs)
    vi.advanceTimersByTime(500)
  }
  expect(passedAtMs).toEqual([0, 1_000, 3_000, 7_000, 11_000, 15_000])
})

test('a gate that is opened again says whether a line had passed, and starts from the shortest time', () => {
  vi.useFakeTimers()
  const gate = atMostEvery(1_000, 4_000)
  expect(gate.reopen()).toBe(false)
  gate.passes()
  vi.advanceTimersByTime(1_000)
  gate.passes()
  expect(gate.reopen()).toBe(true)
  expect(gate.reopen()).toBe(false)
  expect(gate.passes()).toBe(true)
  vi.advanceTimersByTime(1_000)
  expect(gate.passes()).toBe(true)
})
