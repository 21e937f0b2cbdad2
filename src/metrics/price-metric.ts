import { Gauge, type Registry } from 'prom-client'

/** How the last attempt to fetch newer prices went. */
export interface PriceFreshness {
  /** `null`: none was made. */
  readonly last: { readonly outcome: string; readonly freshAt: Date | null } | null
  /** When prices were last confirmed to be the newest; else the day of the release's data. */
  readonly freshAt: Date
  /** Models whose newer price waits for a person. */
  readonly held: number
}

/**
 * Shows the state of the price refresh; nothing where it was never tried. All processes show the same, so one
 * is enough. While the store does not answer, the last value stands.
 */
export function showPrices(registry: Registry, find: () => Promise<PriceFreshness | null>): void {
  let last: PriceFreshness | null = null
  async function read(): Promise<PriceFreshness | null> {
    last = await find().catch(() => last)
    return last
  }
  new Gauge({
    name: 'tallygate_prices_refresh_refused',
    help: '1 while newer prices that were fetched last are not taken: the old ones stand until an operator decides.',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      this.set((await read())?.last?.outcome === 'refused' ? 1 : 0)
    },
  })
  new Gauge({
    name: 'tallygate_prices_fresh_timestamp_seconds',
    help: 'When prices were last known to be the newest there are, since 1970; 0: never.',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      this.set(((await read())?.last?.freshAt?.getTime() ?? 0) / 1000)
    },
  })
  new Gauge({
    name: 'tallygate_prices_age_seconds',
    help: 'How long ago prices were last known to be the newest there are, counted from the data of the release where none were fetched.',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const freshAt = (await read())?.freshAt
      if (freshAt !== undefined) this.set(Math.max(0, (Date.now() - freshAt.getTime()) / 1000))
    },
  })
  new Gauge({
    name: 'tallygate_prices_held_models',
    help: 'Models whose newer price is doubted: the old one stands until an operator accepts it.',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      this.set((await read())?.held ?? 0)
    },
  })
}
