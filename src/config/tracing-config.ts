import { type Environment, readVariable } from './environment.ts'

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const
const PARENT = 'parentbased_'
const MAX_QUEUE = 2_048
const SCHEDULE_DELAY_MS = 5_000

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

/**
 * The variables of OpenTelemetry that are read here; the library reads those of its exporter and of its resource itself.
 *
 * @returns `null`: no spans are made, or a problem was added.
 */
export function readTracing(env: Environment, problems: string[]): TracingConfig | null {
  const endpoint = readVariable(env, 'OTEL_EXPORTER_OTLP_ENDPOINT')
  const isDisabled = readVariable(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  const tracesEndpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || null
  const address = tracesEndpoint ?? endpoint
  if (address === null || isDisabled || env.OTEL_TRACES_EXPORTER === 'none') return null
  const before = problems.length
  if (!/^https?:\/\//.test(address) || !URL.canParse(address))
    problems.push(
      `OTEL_EXPORTER_OTLP_ENDPOINT: must be an http:// or https:// URL, such as http://collector:4318`,
    )
  const protocol =
    env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL || 'http/protobuf'
  if (protocol !== 'http/protobuf')
    problems.push(
      `OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf, the only one there is, not "${protocol}"`,
    )
  const name = readVariable(env, 'OTEL_TRACES_SAMPLER') ?? ''
  const followsParent = name.startsWith(PARENT)
  const sampler = SAMPLERS.find((one) => one === (followsParent ? name.slice(PARENT.length) : name))
  if (sampler === undefined) {
    const all = SAMPLERS.flatMap((one) => [one, `${PARENT}${one}`]).join(', ')
    problems.push(`OTEL_TRACES_SAMPLER: must be one of ${all}, not "${name}"`)
  }
  const ratio = numberIn(env, 'OTEL_TRACES_SAMPLER_ARG', 1, 1, problems)
  const maxQueueSize = numberIn(env, 'OTEL_BSP_MAX_QUEUE_SIZE', MAX_QUEUE, 1_000_000, problems)
  const scheduleDelayMs = numberIn(env, 'OTEL_BSP_SCHEDULE_DELAY', SCHEDULE_DELAY_MS, 3_600_000, problems)
  if (problems.length > before || sampler === undefined) return null
  const url = tracesEndpoint ?? `${address.replace(/\/+$/, '')}/v1/traces`
  return { url, sampler, followsParent, ratio, maxQueueSize, scheduleDelayMs }
}

function numberIn(
  env: Environment,
  name: string,
  absent: number,
  highest: number,
  problems: string[],
): number {
  const text = env[name] || null
  if (text === null) return absent
  const value = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= 0 && value <= highest))
    problems.push(`${name}: must be a number from 0 to ${highest}, not "${text}"`)
  return value
}
