import { loadWorkerConfig } from '../../config/worker-config.ts' // not all of it: a check runs every 30 s
import { SILENT_LOG } from '../../lib/logger.ts'
import { openPostgres } from '../../store/connection/postgres.ts'
import { openRedis } from '../../store/connection/redis.ts'
import { readStreamBacklog } from '../../store/connection/redis-state.ts'
import { selectStreams } from '../../store/ledger/ledger-database.ts'

/**
 * What check-worker.ts runs: whether calls are being counted. Healthy while no entry has waited in a stream for
 * longer than two minutes. Exit code 0 or 1, the reason on stderr.
 */
const WAIT_MAX_MS = 120_000
const GIVE_UP_MS = 8_000

const { databaseUrl, redisUrl } = loadWorkerConfig(process.env)
const pool = openPostgres(databaseUrl, {
  max: 1,
  statementTimeoutMs: 5_000,
  applicationName: 'tallygate health',
  log: SILENT_LOG,
})
const redis = openRedis(redisUrl, {
  name: 'tallygate health',
  whenAway: 'wait',
  silenceMs: 3_000,
  log: SILENT_LOG,
})
setTimeout(() => finish('no answer in time'), GIVE_UP_MS)

try {
  for (const stream of await selectStreams(pool)) {
    const { oldestMs } = await readStreamBacklog(redis, stream)
    if (oldestMs > WAIT_MAX_MS)
      finish(`an entry has been waiting in ${stream} for ${Math.round(oldestMs / 1_000)} s`)
  }
  finish(null)
} catch (error) {
  finish(String(error))
}

function finish(problem: string | null): never {
  if (problem !== null) console.error(problem)
  process.exit(problem === null ? 0 : 1)
}
