import { isOutOfMemory, type Redis } from '../connection/redis.ts'

/** An entry of a stream whose checksum is not verified yet. */
export interface StreamEntry {
  /** Redis's id, `milliseconds-number`. */
  readonly id: string
  /** Names and values in turn. */
  readonly fields: readonly string[]
}

/** Before every entry. */
export const STREAM_START = '0-0'

/** Ids in one XDEL: Redis serves no other command meanwhile. */
const DELETE_AT_A_TIME = 1_000

export interface ReadLimit {
  readonly count: number
  /** How long the first entry is waited for; 0: not at all. */
  readonly blockMs: number
  /** Ends the waiting at once. The connection is then closed for good. */
  readonly signal: AbortSignal
}

/**
 * Entries after the id `after`, in order. When there are none, waits for the first one as long as it may.
 *
 * @returns Empty when none came within `blockMs`, or the signal was given.
 */
export async function readEntries(
  redis: Redis,
  stream: string,
  after: string,
  { count, blockMs, signal }: ReadLimit,
): Promise<StreamEntry[]> {
  if (blockMs === 0) return entriesIn(await redis.xread('COUNT', count, 'STREAMS', stream, after))
  const stopWaiting = () => redis.disconnect()
  signal.addEventListener('abort', stopWaiting)
  try {
    return entriesIn(await redis.xread('COUNT', count, 'BLOCK', blockMs, 'STREAMS', stream, after))
  } catch (error) {
    if (signal.aborted) return []
    throw error
  } finally {
    signal.removeEventListener('abort', stopWaiting)
  }
}

/** From the reply to an XREAD of one stream; `null`: it has none. */
function entriesIn(reply: Awaited<ReturnType<Redis['xread']>>): StreamEntry[] {
  return (reply?.[0]?.[1] ?? []).map(([id, fields]) => ({ id, fields }))
}

/**
 * Publishes committed offsets as a hint, then deletes entries from the stream: in this order, after the commit. A full
 * Redis has no room for the hint; it deletes all the same.
 *
 * @param offsetsKey Hash of producer to committed offset. A hint only: it may be lost, and never decides what is pruned.
 */
export async function trimEntries(
  redis: Redis,
  stream: string,
  ids: readonly string[],
  offsetsKey: string,
  committedOffsets: ReadonlyMap<string, number>,
): Promise<void> {
  const pipeline = redis.pipeline()
  if (committedOffsets.size > 0) pipeline.hset(offsetsKey, Object.fromEntries(committedOffsets))
  for (let start = 0; start < ids.length; start += DELETE_AT_A_TIME) {
    pipeline.xdel(stream, ...ids.slice(start, start + DELETE_AT_A_TIME))
  }
  for (const [error] of (await pipeline.exec()) ?? [])
    if (error !== null && !isOutOfMemory(error)) throw error
}
