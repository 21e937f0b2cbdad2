import { expect, test } from 'vitest'
import { type BookedCall, compareBooks } from '../../../src/standalone/prove/compare-books.ts'
import type { CallTrace } from '../../../src/standalone/prove/load.ts'
import { planCall, readOrder, writeOrder } from '../../../src/standalone/prove/planned-calls.ts'

const trace = (number: number, answer: CallTrace['answer'] = 'whole'): CallTrace => ({
  number,
  gateway: 'gateway',
  answer,
  status: answer === 'refused' ? 0 : 200,
  callId: null,
  upstream: null,
  attempts: null,
  sawUsage: true,
  beganMs: 0,
  endedMs: 1,
})

const counted = (number: number, changes: Partial<BookedCall> = {}): BookedCall => {
  const { input, output, costPico } = planCall(number)
  return { number, input, output, costPico, ...changes }
}

function compare(
  traces: readonly CallTrace[],
  rows: readonly BookedCall[],
  { got = traces.map(({ number }) => number), tolerance = 0 } = {},
) {
  const standIn = {
    got: new Map(got.map((number) => [number, 1])),
    reported: new Map(),
    final: new Set<number>(),
    by: new Map(),
    done: new Map(),
  }
  return compareBooks({ traces, standIn, counted: rows, plan: planCall, tolerance })
}

test('books agree where each call is counted once, with its tokens and cost', () => {
  const found = compare([trace(0), trace(1), trace(2, 'refused')], [counted(0), counted(1)], { got: [0, 1] })
  expect(found).toMatchObject({ seen: 2, counted: 2, lost: [], doubled: [], wrong: [], strange: 0 })
  expect(found.countedPico).toBe(found.expectedPico)
})

test('a call that reached the provider and was not counted is lost, whatever its client got', () => {
  expect(compare([trace(0, 'cut')], []).lost).toEqual([0])
  expect(compare([trace(0)], [], { got: [] }).lost).toEqual([0])
  expect(compare([], [], { got: [7] }).lost).toEqual([7])
})

test('a call that the gateway has named is lost where it is not counted', () => {
  expect(compare([{ ...trace(3, 'cut'), callId: 'call_x' }], [], { got: [] }).lost).toEqual([3])
})

test('a call that is counted twice is doubled', () => {
  expect(compare([trace(0)], [counted(0), counted(0)]).doubled).toEqual([0])
})

test.each([
  ['a picodollar', { costPico: planCall(0).costPico + 1n }],
  ['a token', { output: planCall(0).output + 1 }],
  ['its price', { costPico: null }],
])('a whole answer that is off by %s is wrong', (_, changes) => {
  expect(compare([trace(0)], [counted(0, changes)]).wrong).toHaveLength(1)
})

test('a gateway of floating point may be off by its tolerance, and no more', () => {
  const off = (by: bigint) => [counted(0, { costPico: planCall(0).costPico + by })]
  const tolerance = 1e-9
  expect(compare([trace(0)], off(1n), { tolerance }).wrong).toEqual([])
  expect(compare([trace(0)], off(1_000_000n), { tolerance }).wrong).toHaveLength(1)
})

test('an answer that was cut may be counted with what there was of it', () => {
  expect(compare([trace(0, 'cut')], [counted(0, { output: 1, costPico: 1n })]).wrong).toEqual([])
})

test('rows of no call are said, and do no harm', () => {
  expect(compare([], [counted(0, { number: null }), counted(9)])).toMatchObject({ strange: 2, lost: [] })
})

test('a prompt says to the stand-in which call it is, however a gateway writes it', () => {
  const order = { number: 7, input: 100_007, output: 8, lastsMs: 0 }
  for (const content of [writeOrder(order), [{ type: 'text', text: writeOrder(order) }]])
    expect(readOrder([{ role: 'user', content }])).toEqual(order)
  expect(readOrder([{ role: 'user', content: 'hello' }])).toBeNull()
})
