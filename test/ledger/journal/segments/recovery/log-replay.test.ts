import { expect, test } from 'vitest'
import { LogReplay } from '../../../../../src/ledger/journal/segments/recovery/log-replay.ts'

test('a segment whose beginning is damaged has its records where they are, also after 4 GiB of others', () => {
  const replay = new LogReplay(null)
  replay.startSegment(700)
  replay.damage()
  const record = { kind: 'close', call: 0, at: 500, bodyAt: 537, end: 637 } as const
  replay.frame({ ...record, sequence: 6_000_000_000, bytesTotal: 5_000_000_000 })
  replay.end()
  const index = replay.indexes.get(700)
  expect(index?.bytesBefore).toBe(4_999_999_900)
  expect([index?.sequence(0), index?.position(0), index?.bytesTotal(0)]).toEqual([
    6_000_000_000, 500, 5_000_000_000,
  ])
})
