import { z } from 'zod'
import { fitsCluster } from '../domain/redis/redis-names.ts'
import { parseRedisUrl } from '../domain/redis/redis-url.ts'
import type { Environment, EnvironmentName } from './environment.ts'
import {
  ConfigError,
  choice,
  integer,
  LONGEST_TIMEOUT_MS,
  postgresUrl,
  readVariables,
  redisUrl,
  word,
} from './variables.ts'

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * Time beyond the grace of running calls in which a gateway drains, ships its records and closes its stores.
 */
export const CLOSING_MS = 15_000

/** The configuration of a worker process. */
export interface WorkerConfig {
  readonly redisUrl: string
  readonly databaseUrl: string
  readonly redisPrefix: string
  readonly callRetentionDays: number
  readonly axisValuesPerDay: number
  readonly streamShards: number
  readonly shutdownGraceMs: number
  readonly logLevel: LogLevel
}

export const workerVariables = {
  REDIS_URL: redisUrl,
  DATABASE_URL: postgresUrl,
  REDIS_PREFIX: z.string(),
  CALL_RETENTION_DAYS: integer(0, 3650),
  AXIS_VALUES_PER_DAY: integer(1, 1_000_000),
  STREAM_SHARDS: integer(1, 64),
  SHUTDOWN_GRACE_MS: integer(0, LONGEST_TIMEOUT_MS),
  LOG_LEVEL: choice(LOG_LEVELS),
} as const satisfies Partial<Record<EnvironmentName, z.ZodType>>

/** Where a worker shows `/metrics` and its health. */
export interface WorkerListenConfig {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
}

const listenVariables = {
  WORKER_HOST: word,
  WORKER_PORT: integer(0, 65_535).nullable(),
} as const satisfies Partial<Record<EnvironmentName, z.ZodType>>

/** `null`: nowhere. Throws one {@link ConfigError} with every problem. */
export function loadWorkerListenConfig(env: Environment): WorkerListenConfig | null {
  const problems: string[] = []
  const values = readVariables(env, listenVariables, problems)
  if (values === null) throw new ConfigError(problems)
  const { WORKER_HOST: host, WORKER_PORT: port } = values
  return port === null ? null : { host, port }
}

/** The worker's configuration. Throws one {@link ConfigError} with every problem. */
export function loadWorkerConfig(env: Environment): WorkerConfig {
  const problems: string[] = []
  const values = readVariables(env, workerVariables, problems)
  checkRedisPrefix(values, problems)
  if (values === null || problems.length > 0) throw new ConfigError(problems)
  return workerConfig(values)
}

/** A prefix whose braces part what belongs together on one node of a cluster is a problem. */
export function checkRedisPrefix(
  values: { readonly REDIS_URL: string; readonly REDIS_PREFIX: string } | null,
  problems: string[],
): void {
  if (values === null || fitsCluster(values.REDIS_PREFIX)) return
  if (parseRedisUrl(values.REDIS_URL).address?.kind !== 'cluster') return
  problems.push('REDIS_PREFIX: must have no braces, or one pair with text in it, when Redis is a cluster')
}

/** Admin keys of organizations whose costs are taken once a day; `null`: not set. */
export interface AdminKeys {
  readonly openai: string | null
  readonly anthropic: string | null
}

export function loadAdminKeys(env: Environment): AdminKeys {
  return {
    openai: env.OPENAI_ADMIN_KEY || null,
    anthropic: env.ANTHROPIC_ADMIN_KEY || null,
  }
}

/** The part of the configuration that gateways share. */
export function workerConfig(values: z.output<z.ZodObject<typeof workerVariables>>): WorkerConfig {
  return {
    redisUrl: values.REDIS_URL,
    databaseUrl: values.DATABASE_URL,
    redisPrefix: values.REDIS_PREFIX,
    callRetentionDays: values.CALL_RETENTION_DAYS,
    axisValuesPerDay: values.AXIS_VALUES_PER_DAY,
    streamShards: values.STREAM_SHARDS,
    shutdownGraceMs: values.SHUTDOWN_GRACE_MS,
    logLevel: values.LOG_LEVEL,
  }
}
