import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { GatewayConfig } from '../config/config.ts'
import { streamNames } from '../domain/redis/redis-names.ts'
import { acquireAnyLock } from '../ledger/recovery/liveness-lock.ts'
import { readJournalDirectory } from '../ledger/recovery/producer-folder.ts'
import { openLedger } from '../ledger/running-ledger.ts'
import { createLog } from '../lib/log.ts'
import type { Logger } from '../lib/logger.ts'
import { loadStoredPrices } from '../pricing/refresh/follow-prices.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { buildLedgerDatabase } from '../store/ledger/ledger-database.ts'
import { buildInterrupted } from './recording/finalize-call.ts'
import { ReloadableConfig } from './reloadable-config.ts'

const POLL_MS = 200
const SHIP_GRACE_MS = 3_000
/** In the folder, while it is drained. */
const DRAIN_FOLDER = '.drain'

/** What a folder of journals still has, after `drainFolder`. */
export interface FolderLeft {
  readonly records: number
  /** Journals that are left in it. */
  readonly journals: number
  /** Why; `null`: none are left. */
  readonly why: string | null
}

export interface FolderOptions {
  /** Of the gateways: calls that a crash cut get their price. */
  readonly config: GatewayConfig
  readonly folder: string
  readonly pool: Postgres
  readonly timeoutMs: number
  readonly log: Logger
}

/**
 * Adopts the journals in a folder that no gateway uses, as a gateway there would, ships what they hold, and deletes
 * each once all of it is counted. Records are not kept for a restore: the disk is to go.
 *
 * @throws When the folder cannot be used, or is drained already: of two, each would wait for the journals of the other.
 */
export async function drainFolder(options: FolderOptions): Promise<FolderLeft> {
  const locked = join(options.folder, DRAIN_FOLDER)
  mkdirSync(locked, { recursive: true, mode: 0o700 })
  const lock = acquireAnyLock(locked)
  if (lock === null) throw new Error(`another tallygate journal drain works on ${options.folder}`)
  try {
    return await drainAlone(options)
  } finally {
    rmSync(locked, { recursive: true, force: true })
    lock.release()
  }
}

async function drainAlone(options: FolderOptions): Promise<FolderLeft> {
  const { config, folder, pool, timeoutMs, log } = options
  const stored = await loadStoredPrices({ pool, dataDir: config.dataDir, log })
  const reloadable = new ReloadableConfig(config, createLog('silent', 'drain'), stored)
  reloadable.stopListing()
  const ledger = await openLedger({
    journalDir: folder,
    journalMaxBytes: config.journalMaxBytes,
    keepSeconds: 0,
    redisUrl: config.redisUrl,
    redisPrefix: config.redisPrefix,
    streams: streamNames(config.redisPrefix, 1),
    database: buildLedgerDatabase(pool),
    buildInterrupted: (open, snapshot) => buildInterrupted(open, snapshot, reloadable.pricing),
    log,
  })
  const own = new Set(ledger.producers)
  const count = () => readJournalDirectory(folder).producers.filter((one) => !own.has(one)).length
  try {
    const endMs = performance.now() + timeoutMs
    while (count() > 0 && performance.now() < endMs) await delay(POLL_MS)
    const journals = count()
    const { uncommittedRecords: records, adopted, redisConnected, corrupt } = ledger.stats()
    return { records, journals, why: whyLeft({ journals, adopted, redisConnected, corrupt }) }
  } finally {
    await ledger.stop(SHIP_GRACE_MS)
    await reloadable.close()
  }
}

interface Left {
  readonly journals: number
  readonly adopted: number
  readonly redisConnected: boolean
  readonly corrupt: number
}

function whyLeft({ journals, adopted, redisConnected, corrupt }: Left): string | null {
  if (journals === 0)
    return corrupt === 0 ? null : `${corrupt} damaged journals were put aside: see docs/operations.md, A gap`
  if (adopted < journals)
    return `${journals - adopted} of them are in use by a process, or of another database: see doctor`
  return redisConnected ? 'no worker counts them: start one' : 'Redis does not answer'
}
