import { SILENT_LOG } from '../lib/logger.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { withRedis } from '../store/connection/redis-once.ts'
import { readDatabaseId, selectLedgerStatus, selectStreams } from '../store/ledger/ledger-state.ts'
import { checkGateway } from './checks/gateway.ts'
import { checkGatewayPrices, type OwnPrices } from './checks/gateway-prices.ts'
import { checkJobs } from './checks/jobs.ts'
import { checkJournal } from './checks/journal.ts'
import { checkKeys } from './checks/keys.ts'
import { checkDeadLetters, checkGaps } from './checks/ledger.ts'
import { checkResponseIds, checkSuspects } from './checks/odd-calls.ts'
import { checkMigrations, checkPostgres } from './checks/postgres.ts'
import { checkPriceRefresh } from './checks/price-refresh.ts'
import { checkBacklog, checkRedis } from './checks/redis.ts'
import { checkUnpriced } from './checks/unpriced.ts'
import { reasonOf } from './explain-error.ts'
import { type Finding, failure, warning } from './finding.ts'

/** What is looked at. */
export interface Examined {
  readonly pool: Postgres
  /** `null`: not told, so not looked at. */
  readonly redisUrl: string | null
  readonly redisPrefix: string
  /** The secrets of keys at rest; empty: not told. */
  readonly keyPeppers: readonly string[]
  readonly journalDir: string
  /** A gateway's listener for operators; `null`: none is to be asked. */
  readonly adminUrl: string | null
  /** Absent: as the gateways do. */
  readonly ownPrices?: OwnPrices
}

/** What is reachable, and what is wrong. */
export async function runChecks(examined: Examined): Promise<readonly Finding[]> {
  const { pool, journalDir, adminUrl } = examined
  // Where Postgres is away, which it tells itself, the journals are looked at all the same.
  const database = readDatabaseId(pool).catch(() => null)
  const [inPostgres, inRedis, others] = await Promise.all([
    runPostgresChecks(examined),
    runRedisChecks(examined),
    Promise.all([
      database.then((id) => checkJournal(journalDir, id)),
      ...(adminUrl === null ? [] : [checkGateway(adminUrl)]),
    ]),
  ])
  return [...inPostgres, ...inRedis, ...others]
}

/** Each look needs the one before: without an answer there are no tables, without tables no figures. */
async function runPostgresChecks({
  pool,
  keyPeppers,
  ownPrices = (theirs) => theirs,
}: Examined): Promise<readonly Finding[]> {
  const postgres = await checkPostgres(pool)
  if (postgres.state === 'wrong') return [postgres]
  const migrations = await checkMigrations(pool)
  if (migrations.state === 'wrong') return [postgres, migrations]
  const ledger = await selectLedgerStatus(pool)
  return [
    postgres,
    migrations,
    await checkKeys(pool, keyPeppers),
    checkGaps(ledger),
    checkDeadLetters(ledger),
    ...(await checkUnpriced(pool)),
    await checkPriceRefresh(pool),
    await checkGatewayPrices(pool, ownPrices),
    await checkSuspects(pool),
    await checkResponseIds(pool),
    await checkJobs(pool),
  ]
}

const REDIS_SILENCE_MS = 3_000

async function runRedisChecks({ pool, redisUrl, redisPrefix }: Examined): Promise<readonly Finding[]> {
  if (redisUrl === null) return [warning('redis', 'not looked at', 'set REDIS_URL as the gateway has it')]
  // Where Postgres cannot name the streams, which it tells itself, there is at least the one that is always there.
  const streams = await selectStreams(pool).catch(() => [`${redisPrefix}calls`])
  try {
    return await withRedis(redisUrl, REDIS_SILENCE_MS, SILENT_LOG, async (redis) => [
      await checkRedis(redis),
      await checkBacklog(redis, streams),
    ])
  } catch (error) {
    return [failure('redis', `not reachable: ${reasonOf(error)}`, 'start it, or correct REDIS_URL')]
  }
}
