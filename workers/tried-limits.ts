/** A count that takes long is followed by nine times as long without one: Postgres has other things to do. */
const REST = 9

/** Lets a count of what tried limits would have refused run, alone, for at most a tenth of the time. */
export function createTriedCount(count: () => Promise<unknown>): () => Promise<void> {
  let restsUntilMs = 0
  return async () => {
    const startedMs = performance.now()
    if (startedMs < restsUntilMs) return
    // The next job comes each minute, also while a count of very many calls is under way.
    restsUntilMs = Number.POSITIVE_INFINITY
    try {
      await count()
    } finally {
      const endedMs = performance.now()
      restsUntilMs = endedMs + REST * (endedMs - startedMs)
    }
  }
}
