/** How often entries that are sent and not committed are looked for. */
const CHECK_INTERVAL_MS = 1_000
const CHECK_INTERVAL_MAX_MS = 30_000

/** A sequence that was sent, and whether its entry is on the stream now. */
export interface Sighting {
  readonly sequence: number
  readonly present: boolean
}

/**
 * The sequences to look for: the one the roll-up waits for, and the newest.
 *
 * @param mark read from Postgres just now.
 */
export function sequencesToCheck(committedOffset: number, sent: number): number[] {
  if (sent <= committedOffset) return []
  return sent === committedOffset + 1 ? [sent] : [committedOffset + 1, sent]
}

/**
 * Where to send again from, or `null` when nothing is proven. An entry leaves the stream only after its commit:
 * one that was gone, and is above a mark that was read from Postgres after it was found gone, is lost.
 */
export function provenLoss(sightings: readonly Sighting[], committedReadAfter: number): number | null {
  const lost = sightings.some(({ sequence, present }) => !present && sequence > committedReadAfter)
  return lost ? committedReadAfter : null
}

/**
 * The time to the next look. Sending again without the mark moving means that something else is wrong, and more
 * of the same would only fill the stream.
 *
 * @param fruitless how many times in a row everything was sent again and the mark did not move.
 */
export function nextCheckInMs(attempts: number): number {
  return Math.min(CHECK_INTERVAL_MS * 2 ** Math.min(attempts, 10), CHECK_INTERVAL_MAX_MS)
}
