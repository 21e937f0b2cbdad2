// A worker whose pauses between attempts are short. The test that forks it ends it.
import { startWorkers } from '../../workers/workers.ts'

const {
  DATABASE_URL: databaseUrl = '',
  REDIS_URL: redisUrl = '',
  REDIS_PREFIX: redisPrefix = '',
} = process.env

startWorkers({
  databaseUrl,
  redisUrl,
  redisPrefix,
  callRetentionDays: 0,
  log: { info() {}, warn() {}, error() {} },
  alertPauseMs: 100,
})
