import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FrameWriter } from '../../../../../src/ledger/journal/segments/format/frame-writer.ts'
import { SEGMENT_VERSION, segmentName } from '../../../../../src/ledger/journal/segments/format/frames.ts'
import { systemDisk } from '../../../../../src/ledger/journal/segments/log-disk.ts'
import {
  type RecoveredLog,
  recoverLog,
} from '../../../../../src/ledger/journal/segments/recovery/recover-log.ts'
import { rewriteRecovered } from '../../../../../src/ledger/journal/segments/recovery/rewrite-recovered.ts'
import { testFolder } from '../../../support/folders.ts'

const SALT = 7
const NOISE = 0xa5

async function recovered(folder: string): Promise<RecoveredLog> {
  const log = await recoverLog(folder, systemDisk)
  if (log === 'absent' || log === 'unreadable') throw new Error(`the log is ${log}`)
  return log
}

test('a call that may have ended in damage right before the last sync is in doubt for every adopter', async () => {
  const folder = testFolder()
  const path = join(folder, segmentName(1))
  const writer = new FrameWriter(1, SALT)
  writer.clear()
  writer.begin({
    version: SEGMENT_VERSION,
    salt: SALT,
    previousEnd: { segment: 0, position: 0 },
    rewrites: false,
    firstSegment: 1,
    nextCall: 1,
    nextSequence: 1,
    bytesTotal: 0,
    prunedTo: 0,
    discards: 0,
    isTailLost: false,
    stream: 'test:calls',
  })
  writer.open(1, 'ended')
  const damagedAt = writer.length
  writer.close(1, 1, 0, JSON.stringify({ a: 'record' }))
  const position = writer.length
  writer.synced({ synced: { segment: 1, position }, last: 1, nextCall: 2, discards: 0 })
  writeFileSync(path, writer.buffer.subarray(0, writer.length))
  const bytes = readFileSync(path).fill(NOISE, damagedAt, position)
  writeFileSync(path, bytes)

  for (let adopter = 1; adopter <= 3; adopter++) {
    const log = await recovered(folder)
    expect(log.replay.calls.underWay, `adopter ${adopter}`).toEqual([])
    expect(log.replay.counts.last, `adopter ${adopter}`).toBe(1)
    const { segments } = await rewriteRecovered(folder, log, systemDisk)
    for (const segment of segments) segment.close()
  }
})
