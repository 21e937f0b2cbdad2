import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { CommittedOffsetReader } from '../../../src/ledger/shipping/committed-offset-reader.ts'

test('committed offsets are reported in the order in which they were true, however long Postgres takes', async () => {
  const answers: ((offset: number) => void)[] = []
  const reported: number[] = []
  const reader = new CommittedOffsetReader({
    database: {
      readCommittedOffsets: () =>
        new Promise((resolve) => {
          answers.push((offset) => resolve(new Map([['a', offset]])))
        }),
    },
    producers: () => [{ id: 'a', onCommitted: (offset) => reported.push(offset) }],
  })
  const first = reader.read('a')
  await nextTurn()
  const others = [reader.read('a'), reader.read('a')]
  await nextTurn()
  expect(answers).toHaveLength(1)
  answers[0]?.(5)
  expect(await first).toBe(5)
  await nextTurn()
  expect(answers).toHaveLength(2)
  answers[1]?.(7)
  expect(await Promise.all(others)).toEqual([7, 7])
  expect(reported).toEqual([5, 7])
})
