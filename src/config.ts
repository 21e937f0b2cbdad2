/** Configuration, read once: from the environment, and from the YAML file that it may name. */
export { ConfigError } from './config/config-error.ts'
export { ENVIRONMENT, type Environment, type EnvironmentVariable } from './config/environment.ts'
export { type GatewayConfig, loadGatewayConfig } from './config/gateway-config.ts'
export { type JobFetchConfig, loadJobFetchConfig } from './config/job-fetch-config.ts'
export { loadPriceRefreshConfig, type PriceRefreshConfig } from './config/price-refresh-config.ts'
export type { UpstreamConfig } from './config/upstream.ts'
export type { ModelConfig } from './config/upstreams.ts'
export { CLOSING_MS, type LogLevel, loadWorkerConfig, type WorkerConfig } from './config/worker-config.ts'
