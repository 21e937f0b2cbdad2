import { Gauge, type Registry } from 'prom-client'

/** How the last attempt to fetch newer prices went. */
export interface PriceFreshness {
  readonly outcome: string
  /** When prices were last confirmed to be the newest; `null`: never. */
  readonly freshAt: Date | null
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
      this.set((await read())?.outcome === 'refused' ? 1 : 0)
    },
  })
  new Gauge({
    name: 'tallygate_prices_fresh_timestamp_seconds',
    help: 'When prices were last known to be the newest there are, since 1970; 0: never.',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      this.set(((await read())?.freshAt?.getTime() ?? 0) / 1000)
    },
  })
}
