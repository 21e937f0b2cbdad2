import { readdirSync, readlinkSync } from 'node:fs'
import { sep } from 'node:path'
import { type PlacedFrame, SEGMENT_FILE } from './dead-log.ts'

/** What a journal holds. */
export interface JournalContent {
  /** The highest sequence that is there, or was. */
  readonly last: number
  readonly records: readonly {
    readonly sequence: number
    readonly callId: string
    /** By the gateway's clock. */
    readonly endedAtMs: number
  }[]
  readonly open: readonly string[]
}

/** Producers whose journals the process has open: its own, and those it adopted. Reads /proc. */
export function producersOpenIn(pid: number, journalDir: string): string[] {
  const producers = new Set<string>()
  for (const name of descriptorsOf(pid)) {
    const path = linkOf(`/proc/${pid}/fd/${name}`)
    const [producer, file] = path.startsWith(journalDir + sep)
      ? path.slice(journalDir.length + 1).split(sep)
      : []
    if (producer !== undefined && SEGMENT_FILE.test(file ?? '')) producers.add(producer)
  }
  return [...producers]
}

function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`)
  } catch {
    return [] // it has ended in between
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed in between
  }
}

/** What these frames of a log say. */
export function contentOf(frames: readonly PlacedFrame[]): JournalContent {
  const open = new Map<number, string>()
  const records = new Map<number, JournalContent['records'][number]>()
  let [last, prunedTo] = [0, 0]
  for (const frame of frames) {
    switch (frame.kind) {
      case 'begin':
        last = Math.max(last, frame.begin.nextSequence - 1)
        prunedTo = Math.max(prunedTo, frame.begin.prunedTo)
        break
      case 'open':
      case 'carried':
        open.set(frame.call, JSON.parse(frame.text).callId)
        break
      case 'close':
        open.delete(frame.call)
        last = Math.max(last, frame.sequence)
        records.set(frame.sequence, recordOf(frame.sequence, frame.body ?? ''))
        break
      case 'discard':
        open.delete(frame.call)
        break
      case 'pruned':
        prunedTo = Math.max(prunedTo, frame.sequence)
        break
      case 'snapshot':
      case 'synced':
        break
      default:
        frame satisfies never
    }
  }
  const kept = [...records.values()].filter(({ sequence }) => sequence > prunedTo)
  return {
    last: Math.max(last, prunedTo),
    records: kept.sort((left, right) => left.sequence - right.sequence),
    open: [...open.values()],
  }
}

function recordOf(sequence: number, body: string): JournalContent['records'][number] {
  const { callId, arrivedAtMs, latencyUs } = JSON.parse(body)
  return { sequence, callId, endedAtMs: arrivedAtMs + (latencyUs ?? 0) / 1_000 }
}
