import { type Environment, readVariable } from './environment.ts'
import { ConfigError } from './variables.ts'

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const
const PARENT = 'parentbased_'
const MAX_QUEUE = 2_048
const SCHEDULE_DELAY_MS = 5_000
const EXPORT_EACH_MS = 60_000
const EXPORT_WITHIN_MS = 30_000
const LONGEST_MS = 3_600_000

/** Where spans go, and which are made. */
export interface TracingConfig {
  /** Of the collector's traces, by OTLP over HTTP in protocol buffers. */
  readonly url: string
  readonly sampler: (typeof SAMPLERS)[number]
  /** The client's word on whether its trace is sampled goes first. */
  readonly followsParent: boolean
  /** The part of traces that `traceidratio` keeps, from 0 to 1. */
  readonly ratio: number
  readonly maxQueueSize: number
  readonly scheduleDelayMs: number
}

/** Where metrics go by OTLP, and how often. */
export interface MetricsExportConfig {
  readonly url: string
  readonly eachMs: number
  /** At most `eachMs`. */
  readonly withinMs: number
}

/**
 * The variables of OpenTelemetry that are read here; the library reads those of its exporter and of its resource itself.
 *
 * @returns `null`: no spans are made, or a problem was added.
 */
export function readTracing(env: Environment, problems: string[]): TracingConfig | null {
  const url = readAddress(env, 'TRACES', problems)
  if (url === null) return null
  const before = problems.length
  const name = readVariable(env, 'OTEL_TRACES_SAMPLER') ?? ''
  const followsParent = name.startsWith(PARENT)
  const sampler = SAMPLERS.find((one) => one === (followsParent ? name.slice(PARENT.length) : name))
  if (sampler === undefined) {
    const all = SAMPLERS.flatMap((one) => [one, `${PARENT}${one}`]).join(', ')
    problems.push(`OTEL_TRACES_SAMPLER: must be one of ${all}, not "${name}"`)
  }
  const number = (of: string, absent: number, highest: number) =>
    numberIn(env, of, { absent, lowest: 0, highest }, problems)
  const ratio = number('OTEL_TRACES_SAMPLER_ARG', 1, 1)
  const maxQueueSize = number('OTEL_BSP_MAX_QUEUE_SIZE', MAX_QUEUE, 1_000_000)
  const scheduleDelayMs = number('OTEL_BSP_SCHEDULE_DELAY', SCHEDULE_DELAY_MS, LONGEST_MS)
  if (problems.length > before || sampler === undefined) return null
  return { url, sampler, followsParent, ratio, maxQueueSize, scheduleDelayMs }
}

/** @returns `null`: metrics are sent nowhere, or a problem was added. */
export function readMetricsExport(env: Environment, problems: string[]): MetricsExportConfig | null {
  const url = readAddress(env, 'METRICS', problems)
  if (url === null) return null
  const before = problems.length
  const preference = env.OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE || 'cumulative'
  if (preference.toLowerCase() !== 'cumulative')
    problems.push(
      `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: must be cumulative, the only one there is, not "${preference}"`,
    )
  const time = (of: string, absent: number) =>
    numberIn(env, of, { absent, lowest: 1, highest: LONGEST_MS }, problems)
  const eachMs = time('OTEL_METRIC_EXPORT_INTERVAL', EXPORT_EACH_MS)
  const withinMs = time('OTEL_METRIC_EXPORT_TIMEOUT', EXPORT_WITHIN_MS)
  if (problems.length > before) return null
  return { url, eachMs, withinMs: Math.min(withinMs, eachMs) }
}

/** The same, of a worker. @throws One {@link ConfigError} with every problem. */
export function loadMetricsExport(env: Environment): MetricsExportConfig | null {
  const problems: string[] = []
  const config = readMetricsExport(env, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** Where a signal goes. A problem of both is added once. */
function readAddress(env: Environment, signal: 'TRACES' | 'METRICS', problems: string[]): string | null {
  const own = env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] || null
  const address = own ?? readVariable(env, 'OTEL_EXPORTER_OTLP_ENDPOINT')
  const isDisabled = readVariable(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  const exporters = (env[`OTEL_${signal}_EXPORTER`] || 'otlp').split(',')
  if (address === null || isDisabled || !exporters.some((one) => one.trim() === 'otlp')) return null
  const found: string[] = []
  if (!/^https?:\/\//.test(address) || !URL.canParse(address))
    found.push(
      `OTEL_EXPORTER_OTLP_ENDPOINT: must be an http:// or https:// URL, such as http://collector:4318`,
    )
  const protocol =
    env[`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`] || env.OTEL_EXPORTER_OTLP_PROTOCOL || 'http/protobuf'
  if (protocol !== 'http/protobuf')
    found.push(`OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf, the only one there is, not "${protocol}"`)
  problems.push(...found.filter((one) => !problems.includes(one)))
  return found.length > 0 ? null : (own ?? `${address.replace(/\/+$/, '')}/v1/${signal.toLowerCase()}`)
}

function numberIn(
  env: Environment,
  name: string,
  { absent, lowest, highest }: { readonly absent: number; readonly lowest: number; readonly highest: number },
  problems: string[],
): number {
  const text = env[name] || null
  if (text === null) return absent
  const value = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= lowest && value <= highest))
    problems.push(`${name}: must be a number from ${lowest} to ${highest}, not "${text}"`)
  return value
}
