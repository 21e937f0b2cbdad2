/** The last answer of a store, and how to ask again. */
export interface LastKnown<Found> {
  /** One query for all metrics of a scrape. Where it fails, the last answer stands. */
  ask(): Promise<Found>
}

/**
 * Figures that a store has, for metrics: `first` until it has answered.
 *
 * @param forMs It is not asked again so soon, whether it answered or not.
 */
export function lastKnown<Found>(find: () => Promise<Found>, first: Found, forMs = 0): LastKnown<Found> {
  let last = first
  let askedAtMs = Number.NEGATIVE_INFINITY
  let asked: Promise<void> | null = null
  return {
    async ask() {
      const nowMs = performance.now()
      if (asked === null && nowMs - askedAtMs < forMs) return last
      if (asked === null) askedAtMs = nowMs
      asked ??= find()
        .then(
          (found) => {
            last = found
          },
          () => {},
        )
        .finally(() => {
          asked = null
        })
      await asked
      return last
    },
  }
}
