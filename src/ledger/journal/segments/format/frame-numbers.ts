import { crc32 } from 'node:zlib'

const WORD = 2 ** 32

/** Writes a whole number from 0 to `Number.MAX_SAFE_INTEGER`, as 8 bytes. */
export function putNumber(view: DataView, at: number, value: number): void {
  view.setUint32(at, value, true) // What is above 32 bits is cut off.
  view.setUint32(at + 4, value / WORD, true)
}

/** Reads what `putNumber` wrote. */
export function getNumber(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * WORD
}

/**
 * The start of the checksums in a segment: a frame that was copied from another segment, or is left of another
 * journal's file, is not believed.
 *
 * @param salt the journal's; 0 for the frame `begin`, which tells it.
 */
export function checksumSeed(segment: number, salt: number): number {
  const numbers = Buffer.alloc(8)
  numbers.writeUInt32LE(segment, 0)
  numbers.writeUInt32LE(salt, 4)
  return crc32(numbers)
}

/** The start of the checksum of a frame at `position`: one that stands somewhere else is not believed. */
export function placedSeed(seed: number, position: number): number {
  return (seed ^ position) >>> 0
}
