import { Gauge, type Registry } from 'prom-client'

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

/** Shows a gauge of it. All processes show the same, so one is enough: the highest. */
export function showKnown<Found, Label extends string = never>(
  registry: Registry,
  known: LastKnown<Found>,
  about: { readonly name: string; readonly help: string; readonly labelNames?: Label[] },
  set: (gauge: Gauge<Label>, found: Found) => void,
): void {
  new Gauge({
    ...about,
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const found = await known.ask()
      this.reset()
      set(this, found)
    },
  })
}

/** The same of one figure, which is not shown while there is nothing to measure. */
export function showKnownFigure<Found>(
  registry: Registry,
  known: LastKnown<Found | null>,
  [name, help, measure]: readonly [name: string, help: string, measure: (found: Found) => number],
): void {
  showKnown(registry, known, { name, help }, (gauge, found) => {
    if (found === null) gauge.remove()
    else gauge.set(measure(found))
  })
}
