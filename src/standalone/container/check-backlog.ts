import { loadWorkerConfig } from '../../config/worker-config.ts' // not all of it: a check runs every 30 s
import { LEDGER_CONDITIONS } from '../../ledger/conditions/ledger-conditions.ts'
import { SILENT_LOG } from '../../lib/logger.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import { STORE_CONDITIONS } from '../../store/conditions/store-conditions.ts'
import { openPostgres } from '../../store/connection/postgres.ts'
import { openRedis } from '../../store/connection/redis.ts'

/** Run by check-worker.ts: the conditions that make a worker ill. Exit code 0 or 1, the reason on stderr. */
const GIVE_UP_MS = 8_000
const WATCHED: readonly Pick<Condition, 'failsWorker'>[] = [...STORE_CONDITIONS, ...LEDGER_CONDITIONS]

const { databaseUrl, redisUrl, redisPrefix } = loadWorkerConfig(process.env)
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
  const ports = { pool, redis: async () => redis, redisPrefix, nowMs: Date.now() }
  for (const check of WATCHED.flatMap(({ failsWorker }) => failsWorker ?? [])) {
    const { name, state, detail } = await check(ports)
    if (state === 'wrong') finish(`${name}: ${detail}`)
  }
  finish(null)
} catch (error) {
  finish(String(error))
}

function finish(problem: string | null): never {
  if (problem !== null) console.error(problem)
  process.exit(problem === null ? 0 : 1)
}
