import { readdir } from 'node:fs/promises'

const SEGMENT_NAME = /^(\d{8,10})\.log$/

/** A segment's file in its producer's folder. Segments are numbered 1, 2, 3, ... in the order of the log. */
export function segmentName(segment: number): string {
  return `${segment.toString().padStart(8, '0')}.log`
}

/** The numbers of the segments in a folder, rising. */
export async function listSegments(folder: string): Promise<number[]> {
  const numbers: number[] = []
  for (const name of await readdir(folder)) {
    const number = Number(SEGMENT_NAME.exec(name)?.[1] ?? 0)
    if (number > 0) numbers.push(number)
  }
  return numbers.sort((a, b) => a - b)
}
