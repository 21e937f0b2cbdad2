import type { PriceRefreshConfig } from '../src/config/config.ts'
import type { Logger } from '../src/lib/logger.ts'
import { problemOf, refreshPrices } from '../src/pricing/refresh/refresh-prices.ts'
import { PRICE_KINDS } from '../src/pricing/refresh/stored-prices.ts'
import type { PriceCatalogKind } from '../src/pricing/sources/price-catalog-source.ts'
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

const SHOWN_HELD = 5
const NOT_PUT = 'newer prices cannot be put into Postgres: the old ones stand, and it is tried again later'

export function createPriceRefresher({ pool, config, log }: PriceRefresherOptions): PriceRefresher {
  /** @returns Why it may work in a minute; `null`: it is done. */
  async function refresh(kind: PriceCatalogKind, url: string, isRepeat: boolean): Promise<string | null> {
    const refreshed = await refreshPrices({ pool, kind, url }).catch((err: unknown): never => {
      if (!isRepeat) log.warn({ event: 'prices.not_taken', err, url }, NOT_PUT)
      throw new TryAgain('Postgres is away or takes nothing')
    })
    const problem = problemOf(refreshed)
    if (refreshed.kind === 'taken') {
      const { kind: _, held, ...fields } = refreshed
      log.info(
        { event: 'prices.taken', ...fields, held: held.length },
        'newer prices are in force from that day on',
      )
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
      return problem ?? 'unreachable'
    }
    const held = 'held' in refreshed ? refreshed.held : []
    if (held.length > 0) {
      const shown = held
        .slice(0, SHOWN_HELD)
        .map(({ provider, model, why }) => `${provider}/${model}: ${why}`)
      log.warn(
        { event: 'prices.held', url, models: held.length, shown },
        'the newer prices of these models wait for a person, and their old ones stand: see prices doubts',
      )
    }
    return null
  }
  return {
    async run(isRepeat) {
      const problems: string[] = []
      for (const kind of PRICE_KINDS) {
        const url = config?.urls[kind] ?? null
        const problem = url === null ? null : await refresh(kind, url, isRepeat)
        if (problem !== null) problems.push(problem)
      }
      if (problems.length > 0) throw new TryAgain(problems.join('; '))
    },
  }
}
