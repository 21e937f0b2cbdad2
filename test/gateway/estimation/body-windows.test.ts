import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyWindows } from '../../../src/gateway/estimation/body-windows.ts'
import { heldMemory } from '../../support/memory.ts'
import { rounds } from '../../support/rounds.ts'

const WINDOW = 32 * 1024

const sizes = fc.oneof(
  fc.integer({ min: 0, max: 400 }),
  fc.constantFrom(WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW),
  fc.integer({ min: 0, max: 20_000 }),
)
const bodies = fc.array(
  fc.record({ bytes: sizes, isKept: fc.boolean(), times: fc.constantFrom(1, 1, 20, 70), asks: fc.boolean() }),
  { maxLength: 12 },
)

/** Bytes of which no two pieces are alike. */
const NOISE = Buffer.from(Uint32Array.from({ length: 65_536 }, (_, at) => at * 2_654_435_761).buffer)

function chunkOf(bytes: number, count: number): Buffer {
  const from = (count * 977) % 100_000
  return NOISE.subarray(from, from + bytes)
}

test('the windows of a body are its first and its last 32 KiB, however it comes and whatever was there before', () => {
  fc.assert(
    fc.property(bodies, (pieces) => {
      const windows = new BodyWindows()
      const all: Buffer[] = []
      const check = () => {
        const body = Buffer.concat(all)
        const { head, tail, between } = windows.kept()
        const rest = body.subarray(WINDOW)
        expect(head.equals(body.subarray(0, WINDOW))).toBe(true)
        expect(tail.equals(rest.subarray(Math.max(0, rest.length - WINDOW)))).toBe(true)
        expect(between).toBe(Math.max(0, body.length - 2 * WINDOW))
      }
      for (const { bytes, isKept, times, asks } of pieces) {
        for (let time = 0; time < times; time += 1) {
          const chunk = chunkOf(bytes, all.length)
          all.push(chunk)
          if (isKept) {
            windows.keep(chunk)
          } else {
            const borrowed = Buffer.from(chunk)
            windows.push(borrowed)
            borrowed.fill(0x7e)
          }
        }
        if (asks) check()
      }
      check()
      windows.release()
      expect(windows.kept().head).toHaveLength(0)
    }),
    { numRuns: rounds({ short: 12, long: 100 }), seed: 20_261_122 },
  )
})

test('two bodies never share a window', () => {
  const over = new BodyWindows()
  over.push(Buffer.alloc(3 * WINDOW, 'o'))
  over.release()
  over.release()
  const [one, other] = [new BodyWindows(), new BodyWindows()]
  one.push(Buffer.alloc(3 * WINDOW, '1'))
  other.push(Buffer.alloc(3 * WINDOW, '2'))
  expect(one.kept().head.every((byte) => byte === 0x31)).toBe(true)
  expect(one.kept().tail.every((byte) => byte === 0x31)).toBe(true)
  expect(other.kept().tail.every((byte) => byte === 0x32)).toBe(true)
})

test.each([60_000, 80_000])('a body of one chunk of %i bytes is not copied', (bytes) => {
  const before = process.memoryUsage().arrayBuffers
  const chunk = Buffer.alloc(bytes, 'x')
  const bodies = Array.from({ length: 200 }, () => new BodyWindows())
  for (const windows of bodies) windows.keep(chunk)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(bodies.length * 1024)
  expect(bodies.every((windows) => windows.kept().between === Math.max(0, bytes - 2 * WINDOW))).toBe(true)
})

test.each([
  [0, 80],
  [40_000, 28],
])('short chunks behind %i bytes do not keep the memory that they share with others', (before, kibibytes) => {
  const open = Array.from({ length: 100 }, () => new BodyWindows())
  for (const windows of open) windows.push(Buffer.alloc(before))
  const { arrayBuffers } = heldMemory()
  for (let times = 0; times < 60; times += 1) {
    // A piece as Node cuts it from memory for several, the rest of which went to calls that are over.
    for (const windows of open) windows.keep(Buffer.from(new ArrayBuffer(8192), 0, 100))
  }
  expect(heldMemory().arrayBuffers - arrayBuffers).toBeLessThan(open.length * kibibytes * 1024)
  expect(open.every((windows) => windows.kept().between === 0)).toBe(true)
})
