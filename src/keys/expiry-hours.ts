const HOUR_MS = 3_600_000

interface Expiring {
  /** Milliseconds since 1970; `null`: never. */
  readonly expiresAtMs: number | null
}

/**
 * Things by the hour in which they expire, so that one that expires costs its hour and not all of a
 * million.
 */
export class ExpiryHours<T extends Expiring> {
  readonly #hours = new Map<number, Set<T>>()

  /** Adds a thing, or adds it again when its time has changed: the old hour then finds it too, and leaves it. */
  add(thing: T): void {
    if (thing.expiresAtMs === null) return
    const hour = Math.floor(thing.expiresAtMs / HOUR_MS)
    const things = this.#hours.get(hour)
    if (things === undefined) this.#hours.set(hour, new Set([thing]))
    else things.add(thing)
  }

  /** Removes and returns what has expired by now. */
  take(nowMs: number): readonly T[] {
    const taken: T[] = []
    const now = Math.floor(nowMs / HOUR_MS)
    for (const [hour, things] of this.#hours) {
      if (hour > now) continue
      for (const thing of things) {
        const { expiresAtMs } = thing
        if (expiresAtMs !== null && nowMs < expiresAtMs && Math.floor(expiresAtMs / HOUR_MS) === hour)
          continue
        things.delete(thing)
        if (expiresAtMs !== null && nowMs >= expiresAtMs) taken.push(thing)
      }
      if (things.size === 0) this.#hours.delete(hour)
    }
    return taken
  }
}
