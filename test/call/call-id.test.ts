import { expect, test } from 'vitest'
import { newCallId } from '../../src/call/call-id.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

test('an id is a UUID of version 7 that begins with its time', () => {
  for (const ms of [0, 1, 0xffff, 0x10000, 1_760_000_000_123, 1_760_000_000_123.9, 253_402_300_799_999, 5]) {
    const id = newCallId(ms)
    expect(id).toMatch(UUID_V7)
    expect(timeOf(id)).toBe(Math.floor(ms))
  }
})

test('no two ids are alike, also of one millisecond, and each of their random digits varies', () => {
  const ids = Array.from({ length: 20_000 }, () => newCallId(1_760_000_000_000))
  expect(new Set(ids).size).toBe(ids.length)
  const random = ids.map((id) => id.replaceAll('-', ''))
  for (const at of [13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]) {
    expect(new Set(random.map((id) => id[at])).size).toBe(16)
  }
  expect(new Set(random.map((id) => id[16])).size).toBe(4)
})
