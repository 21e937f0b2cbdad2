import type { RedisMemory } from '../../../store/connection/redis-state.ts'

/** An entry of a short call in Redis's memory: docs/scaling.md has the measurement. */
export const ENTRY_BYTES = 1_040
/** Above so many entries a stream is crowded: any worker has enough to read. */
export const CROWDED_ENTRIES = 50_000
/** All streams together may take this part of the memory that is free. The rest is for what else is in Redis. */
const STREAMS_SHARE = 0.5

/**
 * From how many entries on a stream is crowded. Its producers then keep one batch on it each, and the rest in their
 * journals: many producers would fill Redis otherwise, each within a window of its own.
 *
 * @param memory `null`: not known.
 * @param streams that share the memory.
 */
export function crowdedFrom(memory: RedisMemory | null, streams: number): number {
  if (memory === null || memory.maxBytes === null) return CROWDED_ENTRIES
  const freeBytes = Math.max(memory.maxBytes - memory.usedBytes, 0)
  return Math.min(CROWDED_ENTRIES, Math.floor((freeBytes * STREAMS_SHARE) / streams / ENTRY_BYTES))
}

/**
 * The most that the streams take of Redis, in bytes: that is, with as much `maxmemory` beside it for the rest.
 *
 * @param processes of gateways: each has a producer for each stream.
 * @param batchEntries that a producer keeps on a crowded stream.
 */
export function mostStreamBytes(streams: number, processes: number, batchEntries: number): number {
  return streams * (CROWDED_ENTRIES + processes * batchEntries) * ENTRY_BYTES
}
