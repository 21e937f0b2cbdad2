import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ConfigError } from './config/config-error.ts'
import { type ConfigFile, parseConfigFile } from './config/config-file.ts'
import { type Environment, type EnvironmentName, readVariable } from './config/environment.ts'
import { providerOfHost } from './config/provider-hosts.ts'
import type { UpstreamConfig } from './config/upstream.ts'
import { joinUpstreams, type ModelConfig } from './config/upstreams.ts'
import { choice, integer, pathPrefix, pepperList, serverUrl, upstreamUrl, word } from './config/variables.ts'
import type { TextEntry } from './config/yaml-source.ts'
import { PROVIDERS } from './dialects/dialect.ts'

export { ConfigError } from './config/config-error.ts'
export { ENVIRONMENT, type Environment, type EnvironmentVariable } from './config/environment.ts'
export type { UpstreamConfig } from './config/upstream.ts'
export type { ModelConfig } from './config/upstreams.ts'
export type { TextEntry } from './config/yaml-source.ts'

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** What a worker process is told. */
export interface WorkerConfig {
  readonly redisUrl: string
  readonly databaseUrl: string
  readonly redisPrefix: string
  readonly callRetentionDays: number
  readonly streamShards: number
  readonly shutdownGraceMs: number
  readonly logLevel: LogLevel
}

/** What a gateway process is told. */
export interface GatewayConfig extends WorkerConfig {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** '' or `/llm`, never ending in '/'. */
  readonly basePath: string
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null
  /** At least one; the one of UPSTREAM_URL first, named `default`. */
  readonly upstreams: readonly UpstreamConfig[]
  /** The name of one of `upstreams`. */
  readonly defaultUpstream: string
  /** What `/v1/models` shows; `null`: what the upstreams list. */
  readonly models: readonly ModelConfig[] | null
  /** The file's `prices`, as written. */
  readonly priceOverrides: readonly TextEntry[]
  /** The file's `markups`, as written. */
  readonly markups: readonly TextEntry[]
  readonly journalDir: string
  readonly journalMaxBytes: number
  readonly adminHost: string
  /** 0: any free one. */
  readonly adminPort: number
  readonly adminToken: string | null
  readonly onClientAbort: 'cancel' | 'drain'
  readonly gatewayProcesses: number
  readonly dataDir: string
  /** At least one. The first hashes new keys, every one finds the keys that it hashed. */
  readonly keyPepper: readonly string[]
  readonly upstreamHeadersTimeoutMs: number
  readonly upstreamIdleTimeoutMs: number
  readonly bodyLimitBytes: number
  readonly keyGraceSeconds: number
}

/** What `setTimeout` takes; a longer time would fire at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

const workerVariables = {
  REDIS_URL: serverUrl(['redis://', 'rediss://', '/']),
  DATABASE_URL: serverUrl(['postgres://', 'postgresql://', 'socket://']),
  REDIS_PREFIX: z.string(),
  CALL_RETENTION_DAYS: integer(0, 3650),
  STREAM_SHARDS: integer(1, 64),
  SHUTDOWN_GRACE_MS: integer(0, LONGEST_TIMEOUT_MS),
  LOG_LEVEL: choice(LOG_LEVELS),
} as const satisfies Partial<Record<EnvironmentName, z.ZodType>>

const gatewayVariables = {
  ...workerVariables,
  HOST: word,
  PORT: integer(0, 65_535),
  BASE_PATH: pathPrefix.nullable(),
  TLS_CERT_FILE: z.string().nullable(),
  TLS_KEY_FILE: z.string().nullable(),
  JOURNAL_DIR: z.string().nullable(),
  JOURNAL_MAX_BYTES: integer(1, Number.MAX_SAFE_INTEGER),
  ADMIN_HOST: word,
  ADMIN_PORT: integer(0, 65_535),
  ADMIN_TOKEN: word.nullable(),
  ON_CLIENT_ABORT: choice(['cancel', 'drain']),
  GATEWAY_PROCESSES: integer(1, 256),
  TALLYGATE_DATA_DIR: z.string(),
  KEY_PEPPER: pepperList,
  UPSTREAM_HEADERS_TIMEOUT_MS: integer(1, LONGEST_TIMEOUT_MS),
  UPSTREAM_IDLE_TIMEOUT_MS: integer(1, LONGEST_TIMEOUT_MS),
  BODY_LIMIT_BYTES: integer(1, 2 ** 31),
  KEY_GRACE_SECONDS: integer(0, 31_536_000),
} as const satisfies Partial<Record<EnvironmentName, z.ZodType>>

const upstreamVariables = {
  UPSTREAM_URL: upstreamUrl.nullable(),
  UPSTREAM_API_KEY: word.nullable(),
  UPSTREAM_PROVIDER: choice(PROVIDERS).nullable(),
} as const satisfies Partial<Record<EnvironmentName, z.ZodType>>

/**
 * The gateway's configuration, from the environment and the YAML file it names.
 * Throws one {@link ConfigError} with every problem of both.
 */
export function loadGatewayConfig(env: Environment): GatewayConfig {
  const problems: string[] = []
  const values = readVariables(env, gatewayVariables, problems)
  const problemsBeforeFile = problems.length
  const file = readConfigFile(env, problems)
  const fileIsRight = problems.length === problemsBeforeFile
  const upstreams = joinUpstreams(environmentUpstream(env, problems), env, file)
  if (readVariable(env, 'UPSTREAM_URL') === null && file.upstreamNames.length === 0 && fileIsRight) {
    problems.push('UPSTREAM_URL: is not set, and no TALLYGATE_CONFIG names upstreams')
  }
  const tls = readTls(env, problems)
  if (values !== null && values.PORT !== 0 && values.PORT === values.ADMIN_PORT) {
    problems.push(`ADMIN_PORT: must differ from PORT, both are ${values.PORT}`)
  }
  if (values === null || problems.length > 0) throw new ConfigError(problems)
  return {
    ...workerConfig(values),
    ...upstreams,
    tls,
    host: values.HOST,
    port: values.PORT,
    basePath: values.BASE_PATH ?? '',
    priceOverrides: file.prices,
    markups: file.markups,
    journalDir: values.JOURNAL_DIR ?? join(values.TALLYGATE_DATA_DIR, 'journal'),
    journalMaxBytes: values.JOURNAL_MAX_BYTES,
    adminHost: values.ADMIN_HOST,
    adminPort: values.ADMIN_PORT,
    adminToken: values.ADMIN_TOKEN,
    onClientAbort: values.ON_CLIENT_ABORT,
    gatewayProcesses: values.GATEWAY_PROCESSES,
    dataDir: values.TALLYGATE_DATA_DIR,
    keyPepper: values.KEY_PEPPER,
    upstreamHeadersTimeoutMs: values.UPSTREAM_HEADERS_TIMEOUT_MS,
    upstreamIdleTimeoutMs: values.UPSTREAM_IDLE_TIMEOUT_MS,
    bodyLimitBytes: values.BODY_LIMIT_BYTES,
    keyGraceSeconds: values.KEY_GRACE_SECONDS,
  }
}

/** The worker's configuration. Throws one {@link ConfigError} with every problem. */
export function loadWorkerConfig(env: Environment): WorkerConfig {
  const problems: string[] = []
  const values = readVariables(env, workerVariables, problems)
  if (values === null) throw new ConfigError(problems)
  return workerConfig(values)
}

function workerConfig(values: z.output<z.ZodObject<typeof workerVariables>>): WorkerConfig {
  return {
    redisUrl: values.REDIS_URL,
    databaseUrl: values.DATABASE_URL,
    redisPrefix: values.REDIS_PREFIX,
    callRetentionDays: values.CALL_RETENTION_DAYS,
    streamShards: values.STREAM_SHARDS,
    shutdownGraceMs: values.SHUTDOWN_GRACE_MS,
    logLevel: values.LOG_LEVEL,
  }
}

/** The variables' values; `null`, and a line in `problems` for each wrong one, when any is wrong. */
function readVariables<Shape extends Partial<Record<EnvironmentName, z.ZodType>>>(
  env: Environment,
  shape: Shape,
  problems: string[],
): z.output<z.ZodObject<Shape>> | null {
  const names = Object.keys(shape) as EnvironmentName[]
  const texts = Object.fromEntries(names.map((name) => [name, readVariable(env, name)]))
  const parsed = z.object(shape).safeParse(texts)
  for (const { path, code, message } of parsed.error?.issues ?? []) {
    problems.push(`${path.join('.')}: ${code === 'invalid_type' ? 'is not set' : message}`)
  }
  return parsed.success ? parsed.data : null
}

/** The upstream that UPSTREAM_URL describes, named `default`. */
function environmentUpstream(env: Environment, problems: string[]): UpstreamConfig | null {
  const values = readVariables(env, upstreamVariables, problems)
  if (values === null) return null
  const { UPSTREAM_URL: address, UPSTREAM_API_KEY: apiKey, UPSTREAM_PROVIDER: provider } = values
  if (address === null) return null
  return {
    name: 'default',
    origin: address.origin,
    basePath: address.basePath,
    provider: provider ?? providerOfHost(address.host),
    apiKey,
    models: null,
    pathPrefix: null,
    includeUsage: 'auto',
    trustReportedCost: false,
  }
}

function readConfigFile(env: Environment, problems: string[]): ConfigFile {
  const fileName = readVariable(env, 'TALLYGATE_CONFIG')
  if (fileName === null) return parseConfigFile('', '', env, problems)
  try {
    return parseConfigFile(readFileSync(fileName, 'utf8'), fileName, env, problems)
  } catch (error) {
    problems.push(`TALLYGATE_CONFIG: cannot read ${fileName}: ${reason(error)}`)
    return parseConfigFile('', fileName, env, problems)
  }
}

function readTls(env: Environment, problems: string[]): GatewayConfig['tls'] {
  const names = ['TLS_CERT_FILE', 'TLS_KEY_FILE'] as const
  const [certFile, keyFile] = names.map((name) => readVariable(env, name))
  for (const name of names) {
    const file = readVariable(env, name)
    if (file === null) continue
    try {
      readFileSync(file)
    } catch (error) {
      problems.push(`${name}: cannot read ${file}: ${reason(error)}`)
    }
  }
  if (!certFile && !keyFile) return null
  if (!certFile || !keyFile) {
    problems.push(
      `${certFile ? 'TLS_KEY_FILE' : 'TLS_CERT_FILE'}: is not set, but the other half of HTTPS is`,
    )
    return null
  }
  return { certFile, keyFile }
}

function reason(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
