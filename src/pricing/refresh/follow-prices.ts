import type { Logger } from '../../lib/logger.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { PriceCatalogKind } from '../sources/price-catalog-source.ts'
import { readKept, writeKept } from './kept-file.ts'
import { findCurrentPriceCatalog, findCurrentSource } from './price-catalogs.ts'
import {
  type KeptCatalog,
  NO_STORED_PRICES,
  PRICE_KINDS,
  readStored,
  type StoredPrices,
} from './stored-prices.ts'
import { isBundleNewer, putNewerBundle } from './take-prices.ts'

/** Newer prices are in use after this long, at every gateway. */
const FOLLOW_MS = 20_000
const KEPT_ARE_USED = 'those that were kept here are used, else those of this release'

export interface FollowOptions {
  readonly pool: Postgres
  /** Where the last prices are kept; `null`: nowhere. */
  readonly dataDir: string | null
  readonly log: Logger
  readonly everyMs?: number
}

/**
 * The prices that every process is to use: those of Postgres; while it is away those that were kept here,
 * unless this release brings newer ones. Never throws: what cannot be read is logged and ignored.
 */
export async function loadStoredPrices(options: FollowOptions): Promise<StoredPrices> {
  const { log } = options
  try {
    return await readNewer(options, NO_STORED_PRICES)
  } catch (err) {
    log.warn({ event: 'prices.not_taken', err }, `no prices from Postgres now: ${KEPT_ARE_USED}`)
    return await loadKept(options)
  }
}

async function loadKept({ dataDir, log }: FollowOptions): Promise<StoredPrices> {
  if (dataDir === null) return NO_STORED_PRICES
  let prices = NO_STORED_PRICES
  for (const kind of PRICE_KINDS) {
    try {
      const kept = await readKept(dataDir, kind)
      if (kept === null || isBundleNewer(kind, kept)) continue
      prices = { ...prices, [kind]: readStored(kept) }
    } catch (err) {
      log.error(
        { event: 'prices.not_taken', err, kind },
        'the prices that were kept cannot be read: those of this release are used',
      )
    }
  }
  return prices
}

/** Also where a gateway started while Postgres was away. `null`: it changes nothing. */
async function putBundle(pool: Postgres, kind: PriceCatalogKind, log: Logger): Promise<KeptCatalog | null> {
  const put = await putNewerBundle(pool, kind, Date.now())
  if (put !== null) {
    const { source, inForceFrom } = put
    log.info({ event: 'prices.taken', source, from: inForceFrom }, 'the prices of this release are in force')
  }
  // Another gateway may have been first.
  return put ?? (await findCurrentPriceCatalog(pool, kind))
}

/** `before` itself where nothing is new. @throws When Postgres is away. */
async function readNewer({ pool, dataDir, log }: FollowOptions, before: StoredPrices): Promise<StoredPrices> {
  let prices = before
  for (const kind of PRICE_KINDS) {
    const source = await findCurrentSource(pool, kind)
    if (source === null || source === before[kind]?.source) continue
    const found = await findCurrentPriceCatalog(pool, kind)
    // Between the two reads it may have become what is in use already.
    if (found === null || found.source === before[kind]?.source) continue
    const kept = isBundleNewer(kind, found) ? ((await putBundle(pool, kind, log)) ?? found) : found
    prices = { ...prices, [kind]: readStored(kept) }
    if (dataDir === null) continue
    await writeKept(dataDir, kind, kept).catch((err: unknown) =>
      log.warn(
        { event: 'prices.not_kept', err, dataDir },
        'the prices could not be kept here: a start without Postgres has older ones',
      ),
    )
  }
  return prices
}

/** Looks again and again whether there are newer prices. */
export interface PriceFollowing {
  stop(): Promise<void>
}

/** @param take What to do with them; called only where something is new. */
export function followPrices(
  options: FollowOptions,
  first: StoredPrices,
  take: (prices: StoredPrices) => void,
): PriceFollowing {
  const { log, everyMs = FOLLOW_MS } = options
  let prices = first
  let checking = Promise.resolve()
  let isChecking = false
  /** Logged once, not at every check. */
  let troubled: string | null = null

  async function check(): Promise<void> {
    try {
      const newer = await readNewer(options, prices)
      troubled = null
      if (newer === prices) return
      take(newer)
      prices = newer
      const sources = PRICE_KINDS.flatMap((kind) => newer[kind]?.source ?? [])
      log.info({ event: 'prices.in_use', sources }, 'newer prices are in use')
    } catch (err) {
      const reason = err instanceof Error ? err.message : String(err)
      if (troubled !== reason) {
        log.warn({ event: 'prices.not_taken', err }, 'newer prices cannot be taken: those in use stand')
      }
      troubled = reason
    }
  }
  const timer = setInterval(() => {
    if (isChecking) return
    isChecking = true
    checking = check().finally(() => {
      isChecking = false
    })
  }, everyMs).unref()
  return {
    async stop() {
      clearInterval(timer)
      await checking
    },
  }
}
