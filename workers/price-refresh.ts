import type { PriceRefreshConfig } from '../src/config/config.ts'
import type { Logger } from '../src/lib/logger.ts'
import { problemOf, refreshPrices } from '../src/pricing/refresh/refresh-prices.ts'
import type { Postgres } from '../src/store/connection/postgres.ts'
import { TryAgain } from './queue.ts'

export interface PriceRefresher {
  /**
   * Fetches newer prices and logs the result in one line; nothing where there are none.
   * @param isRepeat Whether it was tried before: a source that is still unreachable is not logged again.
   * @throws {TryAgain} Where it may work in a minute.
   */
  run(isRepeat: boolean): Promise<void>
}

export interface PriceRefresherOptions {
  readonly pool: Postgres
  /** `null`: another worker refreshes. */
  readonly config: PriceRefreshConfig | null
  readonly log: Logger
}

const NOT_PUT = 'newer prices cannot be put into Postgres: the old ones stand, and it is tried again later'

export function createPriceRefresher({ pool, config, log }: PriceRefresherOptions): PriceRefresher {
  return {
    async run(isRepeat) {
      if (config === null) return
      const { url } = config
      const refreshed = await refreshPrices({ pool, url }).catch((err: unknown): never => {
        if (!isRepeat) log.warn({ event: 'prices.not_taken', err, url }, NOT_PUT)
        throw new TryAgain('Postgres is away or takes nothing')
      })
      const problem = problemOf(refreshed)
      if (refreshed.kind === 'taken') {
        const { kind: _, ...fields } = refreshed
        log.info({ event: 'prices.taken', ...fields }, 'newer prices are in force from that day on')
      } else if (refreshed.kind === 'refused') {
        log.error(
          { event: 'prices.refused', problem, url },
          'newer prices were not taken, and the old ones stand: see prices diff',
        )
      } else if (refreshed.kind === 'unreachable') {
        if (!isRepeat) {
          log.warn(
            { event: 'prices.unreachable', problem, url },
            'newer prices could not be fetched: tried again later',
          )
        }
        throw new TryAgain(problem ?? 'unreachable')
      }
    },
  }
}
