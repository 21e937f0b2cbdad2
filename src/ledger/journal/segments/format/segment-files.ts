const SEGMENT_NAME = /^(\d{8,10})\.log$/

/** A segment's file in its producer's folder. Segments are numbered 1, 2, 3, ... in the order of the log. */
export function segmentName(segment: number): string {
  return `${segment.toString().padStart(8, '0')}.log`
}

/** The numbers of the segments among the names of a folder, rising. */
export function segmentNumbers(names: readonly string[]): number[] {
  const numbers = names.map((name) => Number(SEGMENT_NAME.exec(name)?.[1] ?? 0))
  return numbers.filter((number) => number > 0).sort((a, b) => a - b)
}
