/** Configuration, read once: from the environment, and from the YAML file that it may name. */

export { ENVIRONMENT, type Environment, type EnvironmentVariable } from './environment.ts'
export { type GatewayConfig, loadGatewayConfig } from './gateway-config.ts'
export { type KafkaConfig, loadKafkaConfig } from './kafka-config.ts'
export { loadPriceRefreshConfig, type PriceRefreshConfig } from './price-refresh-config.ts'
export { loadMetricsExport, type MetricsExportConfig, type TracingConfig } from './telemetry-config.ts'
export { ConfigError } from './variables.ts'
export {
  type AdminKeys,
  CLOSING_MS,
  type LogLevel,
  loadAdminKeys,
  loadWorkerConfig,
  loadWorkerListenConfig,
  type WorkerConfig,
  type WorkerListenConfig,
} from './worker-config.ts'
export { loadBillingConfig } from './yaml/billing-config.ts'
export { type JobFetchConfig, loadJobFetchConfig } from './yaml/job-fetch-config.ts'
export type { UpstreamConfig } from './yaml/upstream.ts'
export type { ModelConfig } from './yaml/upstreams.ts'
