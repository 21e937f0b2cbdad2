import { flushCompileCache } from 'node:module'
import closeWithGrace from 'close-with-grace'
import {
  ConfigError,
  type JobFetchConfig,
  type KafkaConfig,
  loadJobFetchConfig,
  loadKafkaConfig,
  loadPriceRefreshConfig,
  loadWorkerConfig,
  type PriceRefreshConfig,
  type WorkerConfig,
} from '../src/config/config.ts'
import { createLog } from '../src/lib/log.ts'
import { checkKafkaClient } from './kafka/kafka-broker.ts'
import { startWorkers } from './workers.ts'

const SUMMARY_EVERY_MS = 60_000

interface MainConfig extends WorkerConfig {
  readonly jobFetching: JobFetchConfig | null
  readonly priceRefresh: PriceRefreshConfig | null
  readonly kafka: KafkaConfig | null
}

function loadConfig(): MainConfig {
  try {
    const kafka = loadKafkaConfig(process.env)
    if (kafka !== null) checkKafkaClient()
    return {
      ...loadWorkerConfig(process.env),
      jobFetching: loadJobFetchConfig(process.env),
      priceRefresh: loadPriceRefreshConfig(process.env),
      kafka,
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    console.error(error.message)
    process.exit(1)
  }
}

const config = loadConfig()
const log = createLog(config.logLevel, 'worker')
const workers = startWorkers({ ...config, log })

let countedBefore = 0
setInterval(() => {
  if (workers.sums.counted === countedBefore) return
  countedBefore = workers.sums.counted
  log.info({ event: 'worker.summary', ...workers.sums }, 'calls counted since the start')
}, SUMMARY_EVERY_MS).unref()

closeWithGrace({ delay: config.shutdownGraceMs, logger: console }, async ({ signal, err }) => {
  if (err) log.error({ event: 'worker.crashed', err }, 'the worker ends because of an error')
  else log.info({ event: 'worker.stopping', signal }, 'the worker ends')
  await workers.close()
})

log.info({ event: 'worker.started', redisPrefix: config.redisPrefix }, 'the worker counts calls')
// Now, as a process that is killed keeps nothing.
flushCompileCache()
