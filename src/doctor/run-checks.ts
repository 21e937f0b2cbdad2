import { streamName } from '../domain/redis/redis-names.ts'
import { SILENT_LOG } from '../lib/logger.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { type Redis, withRedis } from '../store/connection/redis.ts'
import { readRedisMemory } from '../store/connection/redis-state.ts'
import { selectGatewayJournals } from '../store/ledger/gateway-journals.ts'
import { readDatabaseId, selectStreams } from '../store/ledger/ledger-database.ts'
import { selectLedgerStatus } from '../store/ledger/ledger-status.ts'
import { selectProcesses } from '../store/processes/processes-table.ts'
import { probeRedis } from '../store/redis-probe/redis-probe.ts'
import type { ReplicaState } from '../store/replica/reports.ts'
import type { HasPrice } from '../usage/unpriced-document.ts'
import { checkAlerts } from './checks/alerts.ts'
import { checkGateway } from './checks/gateway.ts'
import { checkGatewayPrices, type OwnPrices } from './checks/gateway-prices.ts'
import { checkJobs } from './checks/jobs.ts'
import { checkJournal } from './checks/journal.ts'
import { checkKafka } from './checks/kafka.ts'
import { checkKeys } from './checks/keys.ts'
import { checkDeadLetters, checkGaps } from './checks/ledger.ts'
import { checkPlaces, checkResponseIds, checkSuspects } from './checks/odd-calls.ts'
import { checkClocks } from './checks/postgres/clock.ts'
import { checkConnections } from './checks/postgres/connections.ts'
import { checkMigrations, checkPostgres } from './checks/postgres/postgres.ts'
import { checkReplica } from './checks/postgres/replica.ts'
import { checkPriceData } from './checks/price-refresh.ts'
import { checkBacklog, checkRedis } from './checks/redis/redis.ts'
import { checkMemory } from './checks/redis/redis-memory.ts'
import { checkPrefix } from './checks/redis/redis-prefix.ts'
import { checkWorkers } from './checks/redis/workers.ts'
import { checkUnpriced } from './checks/unpriced.ts'
import { reasonOf } from './explain-error.ts'
import { type Finding, failure, warning } from './finding.ts'
import { unlessTooLong } from './unless-too-long.ts'

/** What the checks need. */
export interface Examined {
  readonly pool: Postgres
  /** `null`: not configured, so not checked. */
  readonly redisUrl: string | null
  readonly redisPrefix: string
  /** The peppers of keys at rest; empty: not configured. */
  readonly keyPeppers: readonly string[]
  readonly journalDir: string
  /** A gateway's operator listener; `null`: none to ask. */
  readonly adminUrl: string | null
  /** The replica for reports; absent or `null`: none. */
  readonly replica?: ReplicaState | null
  /** Absent: the gateways' prices are assumed. */
  readonly ownPrices?: OwnPrices
  /** Whether a model has a price now, by the prices in force; `null`: gateways price differently. */
  readonly findHasPrice: () => Promise<HasPrice | null>
}

/** Runs all checks. */
export async function runChecks(examined: Examined): Promise<readonly Finding[]> {
  const { pool, journalDir, adminUrl } = examined
  // Without Postgres, which has a finding of its own, the journals are still checked.
  const database = readDatabaseId(pool).catch(() => null)
  const [inPostgres, inRedis, others] = await Promise.all([
    runPostgresChecks(examined),
    runRedisChecks(examined, database),
    Promise.all([
      database.then((id) => checkJournal(journalDir, id)),
      ...(adminUrl === null ? [] : [checkGateway(adminUrl)]),
    ]),
  ])
  return [...inPostgres, ...inRedis, ...others]
}

/** Each check needs the one before: no tables without a connection, no figures without tables. */
async function runPostgresChecks({
  pool,
  keyPeppers,
  ownPrices = (theirs) => theirs,
  findHasPrice,
  replica = null,
}: Examined): Promise<readonly Finding[]> {
  const postgres = await checkPostgres(pool)
  if (postgres.state === 'wrong') return [postgres]
  const migrations = await checkMigrations(pool)
  if (migrations.state === 'wrong') return [postgres, migrations]
  const ledger = await selectLedgerStatus(pool)
  return [
    postgres,
    migrations,
    await checkClocks(pool),
    await checkConnections(pool),
    ...(replica === null ? [] : [checkReplica(replica)]),
    ...(await unlessTooLong('keys', checkKeys(pool, keyPeppers))),
    checkGaps(ledger),
    checkDeadLetters(ledger),
    ...(await unlessTooLong('prices', checkUnpriced(pool, await findHasPrice()))),
    ...(await checkPriceData(pool)),
    await checkGatewayPrices(pool, ownPrices),
    ...(await unlessTooLong('costly calls', checkSuspects(pool))),
    ...(await unlessTooLong('response ids', checkResponseIds(pool))),
    ...(await unlessTooLong('places', checkPlaces(pool))),
    ...(await unlessTooLong('jobs', checkJobs(pool))),
    ...(await checkKafka(pool)),
    ...(await checkAlerts(pool)),
  ]
}

const REDIS_SILENCE_MS = 3_000

async function runRedisChecks(
  { pool, redisUrl, redisPrefix }: Examined,
  database: Promise<string | null>,
): Promise<readonly Finding[]> {
  if (redisUrl === null) return [warning('redis', 'not looked at', 'set REDIS_URL as the gateway has it')]
  // Without Postgres the streams are unknown, but the first one always exists.
  const streams = await selectStreams(pool).catch(() => [streamName(redisPrefix, 0)])
  const gateways = await selectGatewayJournals(pool).catch(() => [])
  try {
    const problem = await probeRedis(redisUrl, redisPrefix, REDIS_SILENCE_MS, SILENT_LOG)
    const isFull = problem?.isFull === true
    const found = problem && failure('redis', `REDIS_URL ${problem.what}`, problem.mend)
    if (found !== null && !isFull) return [found]
    return await withRedis(redisUrl, REDIS_SILENCE_MS, SILENT_LOG, async (redis) => [
      found ?? (await checkRedis(redis)),
      ...(await measureMemory(redis, streams.length, gateways.length)),
      await checkWorkers(redis, redisPrefix, isFull ? await countWorkers(pool) : null),
      await checkBacklog(redis, streams),
      ...(await checkPrefix(redis, { redisPrefix, streams, databaseId: await database })),
    ])
  } catch (error) {
    return [failure('redis', `not reachable: ${reasonOf(error)}`, 'start it, or correct REDIS_URL')]
  }
}

/** Empty: this user is not shown it. */
async function measureMemory(redis: Redis, streams: number, processes: number): Promise<readonly Finding[]> {
  const memory = await readRedisMemory(redis)
  return memory === null ? [] : [checkMemory(memory, streams, processes)]
}

async function countWorkers(pool: Postgres): Promise<number> {
  return (await selectProcesses(pool)).filter(({ kind }) => kind === 'worker').length
}
