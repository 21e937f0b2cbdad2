import { expect } from 'vitest'
import { SegmentReader } from '../../../src/ledger/journal/segments/format/segment-reader.ts'
import { type RecoveredLog, recoverLog } from '../../../src/ledger/journal/segments/recovery/recover-log.ts'
import { rewriteRecovered } from '../../../src/ledger/journal/segments/recovery/rewrite-recovered.ts'
import { callId } from './calls.ts'
import type { MemoryDisk } from './memory-disk.ts'
import { SAMPLE_FOLDER, type Truth } from './sample-log.ts'

/** What an adopter finds, by the calls' numbers in `Truth`. */
export interface Found {
  readonly records: ReadonlyMap<number, string>
  /** Calls that it counts as interrupted. */
  readonly interrupted: readonly string[]
  readonly doubted: readonly string[]
  readonly unknown: number
  /** The highest number that it takes for used. */
  readonly last: number
  readonly isDamaged: boolean
  readonly isTailLost: boolean
}

/** Reads the log and writes its end once more, as an adopter does. `null`: nothing of it can be read. */
export async function adopt(disk: MemoryDisk): Promise<Found | null> {
  const recovered = await recoverLog(SAMPLE_FOLDER, disk)
  if (recovered === 'absent' || recovered === 'unreadable') return null
  const found = foundIn(recovered, disk)
  await rewriteRecovered(SAMPLE_FOLDER, recovered, disk)
  return found
}

function foundIn({ replay, found }: RecoveredLog, disk: MemoryDisk): Found {
  const records = new Map<number, string>()
  for (const { segment, path, isMissing } of found.parts) {
    const index = replay.indexes.get(segment)
    if (isMissing || index === undefined) continue
    const reader = new SegmentReader(disk.files.get(path)?.bytes ?? Buffer.alloc(0), segment, found.salt)
    for (let at = 0; at < index.length; at++) {
      const frame = reader.read(index.position(at))
      if (frame?.kind !== 'close') throw new Error('the index is wrong')
      records.set(frame.sequence, JSON.parse(reader.text(frame.bodyAt, frame.end)).callId)
    }
  }
  const { calls, counts, isDamaged, isTailLost } = replay
  const underWay = isTailLost ? [] : calls.underWay
  return {
    records,
    interrupted: underWay.map(({ text }) => JSON.parse(text).callId),
    doubted: [...calls.doubted, ...(isTailLost ? calls.underWay : [])].map(
      ({ text }) => JSON.parse(text).callId,
    ),
    unknown: calls.unknown,
    last: counts.last,
    isDamaged,
    isTailLost,
  }
}

/** What must hold whatever became of the files: nothing is made up, and no call is counted twice. */
export function expectNothingWrong(found: Found, truth: Truth): void {
  const ending = new Set([...truth.ending].map(callId))
  for (const [sequence, call] of found.records) {
    const closed = truth.closed.get(sequence)
    if (closed !== undefined || !ending.has(call)) expect(call).toBe(callId(closed ?? -1))
  }
  const closed = new Set([...truth.closed].map(([, call]) => callId(call)))
  const shipped = [...truth.closed].filter(([sequence]) => sequence <= truth.synced)
  const counted = new Set([...shipped.map(([, call]) => callId(call)), ...found.records.values()])
  expect(found.interrupted.filter((call) => counted.has(call))).toEqual([])
  const known = new Set([...truth.open, ...truth.discarded].map(callId))
  expect(found.interrupted.filter((call) => !known.has(call) && !closed.has(call))).toEqual([])
}

/** What must hold where all that was synced is on the disk, or is damaged in a way that can be noticed. */
export function expectNothingLostInSilence(found: Found, truth: Truth): void {
  const missing = [...truth.closed.keys()].filter(
    (sequence) => sequence <= truth.synced && !found.records.has(sequence),
  )
  if (!found.isTailLost) expect(found.last).toBeGreaterThanOrEqual(truth.synced)
  if (missing.length > 0) expect(found.isDamaged).toBe(true)
  const named = new Set([...found.interrupted, ...found.doubted])
  // One whose end was handed in may have ended, whether or not that was answered.
  const lost = [...truth.syncedOpen].filter((call) => !truth.ending.has(call) && !named.has(callId(call)))
  if (lost.length > 0)
    expect([found.isDamaged, found.unknown >= lost.length || found.isTailLost]).toEqual([true, true])
}
