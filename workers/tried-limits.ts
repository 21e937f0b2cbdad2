import { countTried } from '../src/limits/tried/count-tried.ts'
import type { Postgres } from '../src/store/connection/postgres.ts'

/** A count that takes long is followed by nine times as long without one: Postgres has other things to do. */
const REST = 9

/** Counts what limits that are tried would have refused. @param now The clock of calls, milliseconds since 1970. */
export function createTriedCount(pool: Postgres, now: () => number): () => Promise<void> {
  let restsUntilMs = 0
  return async () => {
    const startedMs = performance.now()
    if (startedMs < restsUntilMs) return
    // The next job comes each minute, also while a count of very many calls is under way.
    restsUntilMs = Number.POSITIVE_INFINITY
    try {
      await countTried(pool, now())
    } finally {
      const endedMs = performance.now()
      restsUntilMs = endedMs + REST * (endedMs - startedMs)
    }
  }
}
