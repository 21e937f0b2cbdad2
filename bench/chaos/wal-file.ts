import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const WAL_FILE = 'journal.db-wal'
const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

export function readWal(folder: string): Buffer {
  const file = join(folder, WAL_FILE)
  return existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
}

/** Where the WAL's transactions end, in bytes from its beginning; the beginning itself first. SQLite's file format, section 4. */
export function commitEnds(wal: Buffer): number[] {
  const ends = [Math.min(WAL_HEADER_BYTES, wal.length)]
  if (wal.length < WAL_HEADER_BYTES) return ends
  const frameBytes = FRAME_HEADER_BYTES + wal.readUInt32BE(8)
  const salts = wal.subarray(16, 24)
  for (let at = WAL_HEADER_BYTES; at + frameBytes <= wal.length; at += frameBytes) {
    if (!wal.subarray(at + 8, at + 16).equals(salts)) break // left over from before the WAL was restarted
    if (wal.readUInt32BE(at + 4) !== 0) ends.push(at + frameBytes)
  }
  return ends
}

/** The first of the ascending `ends` for which it holds; the last one, where it holds for none before. */
export function firstEndWith(ends: readonly number[], holds: (end: number) => boolean): number {
  let [from, to] = [0, ends.length - 1]
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    if (holds(ends[middle] ?? 0)) to = middle
    else from = middle + 1
  }
  return ends[from] ?? 0
}
