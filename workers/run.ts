import { flushCompileCache } from 'node:module'
import closeWithGrace from 'close-with-grace'
import {
  type AdminKeys,
  ConfigError,
  type JobFetchConfig,
  type KafkaConfig,
  loadAdminKeys,
  loadBillingConfig,
  loadJobFetchConfig,
  loadKafkaConfig,
  loadMetricsExport,
  loadPriceRefreshConfig,
  loadWorkerConfig,
  loadWorkerListenConfig,
  type MetricsExportConfig,
  type PriceRefreshConfig,
  type WorkerConfig,
  type WorkerListenConfig,
} from '../src/config/config.ts'
import { createLog } from '../src/lib/log.ts'
import { VERSION } from '../src/lib/version.ts'
import { openSending } from '../src/metrics/otlp/open-sending.ts'
import type { BillingReceiver } from '../src/statements/billing/mouths.ts'
import { checkKafkaClient } from './kafka/kafka-broker.ts'
import { startWorkers } from './workers.ts'

const SUMMARY_EVERY_MS = 60_000

interface MainConfig extends WorkerConfig {
  readonly jobFetching: JobFetchConfig | null
  readonly priceRefresh: PriceRefreshConfig | null
  readonly kafka: KafkaConfig | null
  readonly billing: readonly BillingReceiver[]
  readonly adminKeys: AdminKeys
  readonly listen: WorkerListenConfig | null
  readonly metricsExport: MetricsExportConfig | null
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
      billing: loadBillingConfig(process.env),
      adminKeys: loadAdminKeys(process.env),
      listen: loadWorkerListenConfig(process.env),
      metricsExport: loadMetricsExport(process.env),
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    console.error(error.message)
    process.exit(1)
  }
}

const config = loadConfig()
const log = createLog(config.logLevel, 'worker')
const { listen, metricsExport } = config
const workers = startWorkers({ ...config, log })
// Loaded only where it is used: it takes 20 ms of a start. Without the address that it is to have, it ends.
const metrics =
  listen === null && metricsExport === null
    ? null
    : await import('../src/metrics/rollup-metrics.ts').then(({ buildWorkerMetrics }) =>
        buildWorkerMetrics({ ...workers.view, version: VERSION }),
      )
const listener =
  listen === null || metrics === null
    ? null
    : await import('../src/operator/worker-listener.ts').then(({ listenForOperators }) =>
        listenForOperators({ ...listen, metrics, problem: workers.view.problem, log }),
      )
const sending =
  metrics === null ? null : await openSending(metricsExport, 'tallygate-worker', metrics.figures, log)

let countedBefore = 0
setInterval(() => {
  if (workers.sums.counted === countedBefore) return
  countedBefore = workers.sums.counted
  log.info({ event: 'worker.summary', ...workers.sums }, 'calls counted since the start')
}, SUMMARY_EVERY_MS).unref()

closeWithGrace({ delay: config.shutdownGraceMs, logger: console }, async ({ signal, err }) => {
  if (err) log.error({ event: 'worker.crashed', err }, 'the worker ends because of an error')
  else log.info({ event: 'worker.stopping', signal }, 'the worker ends')
  await Promise.all([listener?.close(), sending?.close()])
  await workers.close()
})

log.info({ event: 'worker.started', redisPrefix: config.redisPrefix }, 'the worker counts calls')
// Now, as a process that is killed keeps nothing.
flushCompileCache()
