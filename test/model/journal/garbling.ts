import type { Random } from '../faults/random.ts'
import type { JournalModel } from './journal.ts'
import { framesOf } from './log-reader.ts'

/** What the disk destroyed of a journal, by what really stood there. */
export interface Garbling {
  /** Calls whose records are gone. */
  readonly records: readonly number[]
  /** Calls under way of which what is left does not say whether they ended. */
  readonly doubtful: readonly number[]
  /** Nothing that can be read behind it says which numbers were given in it. */
  readonly isTail: boolean
}

/** A disk garbles what it had synced, or loses a segment. `null`: it did not, there is too little. */
export function garble(journal: JournalModel, random: Random, whole: boolean): Garbling | null {
  if (!journal.isLog) return null
  journal.cut()
  const { disk } = journal
  const frames = framesOf(disk.segments)
  const destroyed = disk.garble(random, whole)
  if (destroyed.size === 0) return null
  journal.isGarbled = true
  let lastGone = -1
  let lastDoubtful = -1
  let isRecordGone = false
  frames.forEach((frame, index) => {
    if (frame === null || destroyed.has(frame)) {
      lastGone = index
      isRecordGone ||= frame === null || frame.kind === 'record'
    } else if (frame.kind === 'record' || frame.kind === 'begin' || frame.kind === 'synced') {
      if (isRecordGone) lastDoubtful = lastGone
      isRecordGone = false
      lastGone = -1
    }
  })
  // The begin of a segment that repeats what stands before: what it repeats is read where it stood, or is not there.
  const isRepeated = [...destroyed].some(
    (frame) =>
      frame.kind === 'begin' &&
      disk.segments.some(
        ({ number, frames: { length } }) => number === frame.from?.segment && length > frame.from.index,
      ),
  )
  const isTail = isRepeated || lastGone !== -1
  const mentioned = (call: number): number =>
    frames.findLastIndex(
      (frame) =>
        (frame?.kind === 'open' || frame?.kind === 'carried') && frame.call === call && !destroyed.has(frame),
    )
  return {
    records: [...destroyed].flatMap((frame) => (frame.kind === 'record' ? frame.call : [])),
    doubtful: [...journal.open.keys()].filter(
      (call) => isTail || mentioned(call) === -1 || mentioned(call) < lastDoubtful,
    ),
    isTail,
  }
}
