/** How often entries that are sent and not committed are checked. */
const CHECK_INTERVAL_MS = 1_000
const CHECK_INTERVAL_MAX_MS = 30_000

/** A sequence that was sent, and whether its entry is on the stream now. */
export interface Sighting {
  readonly sequence: number
  readonly present: boolean
}

/**
 * The sequences to check: the one that the roll-up waits for, and the newest.
 *
 * @param committedOffset read from Postgres just now.
 */
export function sequencesToCheck(committedOffset: number, sent: number): number[] {
  if (sent <= committedOffset) return []
  return sent === committedOffset + 1 ? [sent] : [committedOffset + 1, sent]
}

/**
 * The offset after which to send again; `null`: no loss is proven. An entry leaves the stream only after its commit. One
 * that is gone, and is above the committed offset read after it was found gone, is therefore lost.
 */
export function provenLoss(sightings: readonly Sighting[], committedReadAfter: number): number | null {
  const lost = sightings.some(({ sequence, present }) => !present && sequence > committedReadAfter)
  return lost ? committedReadAfter : null
}

/**
 * The time to the next check. When sending again moves no committed offset, something else is wrong, and sending more
 * would only fill the stream.
 *
 * @param attempts how many times in a row everything was sent again and nothing was committed.
 */
export function nextCheckInMs(attempts: number): number {
  return Math.min(CHECK_INTERVAL_MS * 2 ** Math.min(attempts, 10), CHECK_INTERVAL_MAX_MS)
}
