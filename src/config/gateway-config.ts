import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { z } from 'zod'
import type { PriceOverride } from '../pricing/overrides/price-overrides.ts'
import { parseOverrides } from '../pricing/overrides/price-overrides-parse.ts'
import { placesOfUpstreams } from '../pricing/places/upstream-places.ts'
import { type PriceMarkup, parseMarkups } from '../pricing/price-markups.ts'
import { type RepricingSettings, settingsOf } from '../pricing/repricing/repricing-scope.ts'
import { type Environment, type EnvironmentName, readVariable } from './environment.ts'
import {
  type MetricsExportConfig,
  readMetricsExport,
  readTracing,
  type TracingConfig,
} from './telemetry-config.ts'
import {
  ConfigError,
  choice,
  integer,
  LONGEST_TIMEOUT_MS,
  messageOf,
  originList,
  pathPrefix,
  pepperList,
  postgresReadUrl,
  publicUrl,
  readVariables,
  word,
} from './variables.ts'
import { checkRedisPrefix, type WorkerConfig, workerConfig, workerVariables } from './worker-config.ts'
import { type AxesConfig, axesConfig } from './yaml/axes.ts'
import type { EstimateConfig, PathsConfig } from './yaml/config-file.ts'
import { type ConfigFile, readConfigFile } from './yaml/config-file.ts'
import { certificatesIn, type IdentityConfig } from './yaml/identity-config.ts'
import { pricesOfUpstreams } from './yaml/price-config.ts'
import type { RouteConfig } from './yaml/routes.ts'
import type { SelfServiceConfig } from './yaml/self-service-config.ts'
import type { SignInConfig } from './yaml/sign-in-config.ts'
import type { UpstreamConfig } from './yaml/upstream.ts'
import { readEnvironmentUpstream } from './yaml/upstream.ts'
import { joinUpstreams, type ModelConfig, type Upstreams } from './yaml/upstreams.ts'

/** The configuration of a gateway process. */
export interface GatewayConfig extends WorkerConfig {
  /** A replica for reports; `null`: none. */
  readonly databaseReadUrl: string | null
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** '' or `/llm`, never ending in '/'. */
  readonly basePath: string
  /** With the base path, never ending in '/'; `null`: the address that a call was sent to. */
  readonly publicUrl: string | null
  /** Pages of these may call; `*` alone: of all; `null`: none. */
  readonly corsOrigins: readonly string[] | null
  readonly tls: TlsFiles | null
  /** At least one; the one of UPSTREAM_URL first, named `default`. */
  readonly upstreams: readonly UpstreamConfig[]
  /** The name of one of `upstreams`. */
  readonly defaultUpstream: string
  /** The operator named it, so it gets the models that no upstream lists. */
  readonly isDefaultWritten: boolean
  /** The models of `/v1/models`; `null`: those that the upstreams list. */
  readonly models: readonly ModelConfig[] | null
  /** Absent: there are none. */
  readonly routes?: readonly RouteConfig[]
  /** Absent: calls have no values on any. */
  readonly axes?: AxesConfig
  readonly paths: PathsConfig
  readonly priceOverrides: readonly PriceOverride[]
  readonly priceMarkups: readonly PriceMarkup[]
  /** Prices and markups as written, and which provider's prices upstreams use. */
  readonly priceSettings: RepricingSettings
  readonly journalDir: string
  readonly journalMaxBytes: number
  readonly journalKeepSeconds: number
  readonly onJournalFull: 'refuse' | 'unmetered'
  readonly adminHost: string
  /** 0: any free one. */
  readonly adminPort: number
  readonly adminToken: string | null
  readonly keyNetworks: 'peer' | 'x-forwarded-for' | 'off'
  /** Of the clients' page, on `host`. 0: any free one; `null`: there is none. */
  readonly portalPort: number | null
  /** Pages of these may show it in theirs. */
  readonly portalEmbedOrigins: readonly string[]
  /** `null`: no spans are made. */
  readonly tracing: TracingConfig | null
  /** `null`: metrics are sent nowhere. */
  readonly metricsExport: MetricsExportConfig | null
  /** Clients that metrics name; 0: none. */
  readonly metricsClients: number
  readonly onClientAbort: 'cancel' | 'drain'
  readonly gatewayProcesses: number
  readonly dataDir: string
  /** At least one. The first hashes new keys; each is tried for existing ones. */
  readonly keyPepper: readonly string[]
  readonly upstreamHeadersTimeoutMs: number
  readonly upstreamIdleTimeoutMs: number
  readonly bodyLimitBytes: number
  readonly keyGraceSeconds: number
  /** A single call that costs more is flagged; 0: none is. */
  readonly callAlertUsd: number
  /** Whose programs are answered as they expect it; absent: no others than those of the APIs. */
  readonly compat?: 'litellm'
  /** Clients whose answers say what they cost, `*`: all; absent: none. */
  readonly costInAnswers?: readonly string[]
  /** What calls reserve of their clients' limits; left out: `DEFAULT_ESTIMATES`. */
  readonly estimates?: EstimateConfig
  /** Who may call without a key of ours; absent: no identity is taken. */
  readonly identity?: IdentityConfig
  /** How operators sign in beside their tokens; absent: they do not. */
  readonly signIn?: SignInConfig
  /** How members of groups make keys of their own; absent: they do not. */
  readonly selfService?: SelfServiceConfig
}

const gatewayVariables = {
  ...workerVariables,
  DATABASE_READ_URL: postgresReadUrl.nullable(),
  HOST: word,
  PORT: integer(0, 65_535),
  BASE_PATH: pathPrefix.nullable(),
  PUBLIC_URL: publicUrl.nullable(),
  CORS_ORIGINS: originList.nullable(),
  TLS_CERT_FILE: z.string().nullable(),
  TLS_KEY_FILE: z.string().nullable(),
  JOURNAL_DIR: z.string().nullable(),
  JOURNAL_MAX_BYTES: integer(1, Number.MAX_SAFE_INTEGER),
  JOURNAL_KEEP_SECONDS: integer(1, 31_536_000),
  ON_JOURNAL_FULL: choice(['refuse', 'unmetered']),
  ADMIN_HOST: word,
  ADMIN_PORT: integer(0, 65_535),
  ADMIN_TOKEN: word.nullable(),
  PORTAL_PORT: integer(0, 65_535).nullable(),
  PORTAL_EMBED_ORIGINS: originList.nullable(),
  METRICS_CLIENTS: integer(0, 1_000),
  KEY_NETWORKS: choice(['peer', 'x-forwarded-for', 'off']),
  ON_CLIENT_ABORT: choice(['cancel', 'drain']),
  GATEWAY_PROCESSES: integer(1, 256),
  TALLYGATE_DATA_DIR: z.string(),
  KEY_PEPPER: pepperList,
  UPSTREAM_HEADERS_TIMEOUT_MS: integer(1, LONGEST_TIMEOUT_MS),
  UPSTREAM_IDLE_TIMEOUT_MS: integer(1, LONGEST_TIMEOUT_MS),
  BODY_LIMIT_BYTES: integer(1, 2 ** 31),
  KEY_GRACE_SECONDS: integer(0, 31_536_000),
  CALL_ALERT_USD: integer(0, 1_000_000_000),
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
  const upstreams = joinUpstreams(readEnvironmentUpstream(env, problems), env, file)
  if (readVariable(env, 'UPSTREAM_URL') === null && file.upstreamNames.length === 0 && fileIsRight) {
    problems.push('UPSTREAM_URL: is not set, and no TALLYGATE_CONFIG names upstreams')
  }
  checkRedisPrefix(values, problems)
  const prices = parsePrices(file, upstreams)
  const tls = readTlsFiles(env, file.identity?.proxy?.certificate?.caFile ?? null, problems)
  const tracing = readTracing(env, problems)
  const metricsExport = readMetricsExport(env, problems)
  if (values !== null) problems.push(...sharedPorts(values))
  if (values?.PORTAL_EMBED_ORIGINS?.includes('*') === true)
    problems.push('PORTAL_EMBED_ORIGINS: must name the origins: with * any page could show it in its own')
  if (file.signIn !== null && values?.ADMIN_TOKEN === null)
    problems.push('ADMIN_TOKEN: is not set, and without it there is nothing that sign_in opens')
  if (file.selfService !== null && values?.PORTAL_PORT === null)
    problems.push('PORTAL_PORT: is not set, and without it there is no page for the members of self_service')
  if (values === null || problems.length > 0) throw new ConfigError(problems)
  return {
    ...workerConfig(values),
    ...upstreams,
    ...prices,
    tls,
    tracing,
    metricsExport,
    databaseReadUrl: values.DATABASE_READ_URL,
    host: values.HOST,
    port: values.PORT,
    basePath: values.BASE_PATH ?? '',
    publicUrl: values.PUBLIC_URL,
    corsOrigins: values.CORS_ORIGINS,
    journalDir: values.JOURNAL_DIR ?? join(values.TALLYGATE_DATA_DIR, 'journal'),
    journalMaxBytes: values.JOURNAL_MAX_BYTES,
    journalKeepSeconds: values.JOURNAL_KEEP_SECONDS,
    onJournalFull: values.ON_JOURNAL_FULL,
    adminHost: values.ADMIN_HOST,
    adminPort: values.ADMIN_PORT,
    adminToken: values.ADMIN_TOKEN,
    portalPort: values.PORTAL_PORT,
    portalEmbedOrigins: values.PORTAL_EMBED_ORIGINS ?? [],
    metricsClients: values.METRICS_CLIENTS,
    keyNetworks: values.KEY_NETWORKS,
    onClientAbort: values.ON_CLIENT_ABORT,
    gatewayProcesses: values.GATEWAY_PROCESSES,
    dataDir: values.TALLYGATE_DATA_DIR,
    keyPepper: values.KEY_PEPPER,
    upstreamHeadersTimeoutMs: values.UPSTREAM_HEADERS_TIMEOUT_MS,
    upstreamIdleTimeoutMs: values.UPSTREAM_IDLE_TIMEOUT_MS,
    bodyLimitBytes: values.BODY_LIMIT_BYTES,
    keyGraceSeconds: values.KEY_GRACE_SECONDS,
    callAlertUsd: values.CALL_ALERT_USD,
    ...whereSet({
      axes: file.axes.length === 0 ? null : axesConfig(file.axes),
      compat: file.compat,
      costInAnswers: file.costInAnswers,
      identity: file.identity,
      signIn: file.signIn,
      selfService: file.selfService,
      estimates: file.estimates,
    }),
  }
}

/** The fields that are left out while they are unset. `routes` come with the upstreams. */
type UnsetFields = Omit<
  {
    readonly [Field in keyof GatewayConfig as object extends Pick<GatewayConfig, Field> ? Field : never]-?:
      | Required<GatewayConfig>[Field]
      | null
  },
  'routes'
>

/** Those that are set. The compiler asks for each: one that is not passed on would be read, and do nothing. */
function whereSet(fields: UnsetFields): Pick<GatewayConfig, keyof UnsetFields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

const WILDCARD_HOSTS: readonly string[] = ['0.0.0.0', '::', '[::]']

/**
 * Which listeners would take the same address. An address that stands for all addresses overlaps with every other.
 */
function sharedPorts(values: z.output<z.ZodObject<typeof gatewayVariables>>): readonly string[] {
  const { HOST: host, PORT, ADMIN_HOST: adminHost, ADMIN_PORT, PORTAL_PORT } = values
  const listeners = [
    { name: 'PORT', host, port: PORT },
    { name: 'ADMIN_PORT', host: adminHost, port: ADMIN_PORT },
    ...(PORTAL_PORT === null ? [] : [{ name: 'PORTAL_PORT', host, port: PORTAL_PORT }]),
  ]
  return listeners.flatMap((one, index) => {
    const other = listeners
      .slice(0, index)
      .find(({ host: otherHost, port }) => port === one.port && port !== 0 && overlap(otherHost, one.host))
    return other === undefined ? [] : [`${one.name}: must differ from ${other.name}, both are ${one.port}`]
  })
}

function overlap(host: string, other: string): boolean {
  return host === other || WILDCARD_HOSTS.includes(host) || WILDCARD_HOSTS.includes(other)
}

function parsePrices(
  file: ConfigFile,
  upstreams: Upstreams,
): Pick<GatewayConfig, 'priceOverrides' | 'priceMarkups' | 'priceSettings'> {
  const names = [...new Set([...upstreams.upstreams.map(({ name }) => name), ...file.upstreamNames])]
  const prices = parseOverrides(file.prices, names)
  const markups = parseMarkups(file.markups, names)
  for (const { line, what } of prices.problems) file.report(line, `prices: ${what}`)
  for (const { line, what } of markups.problems) file.report(line, `markups: ${what}`)
  const priceSettings = settingsOf(
    file.prices,
    file.markups,
    names,
    pricesOfUpstreams(upstreams.upstreams),
    placesOfUpstreams(upstreams.upstreams),
  )
  return { priceOverrides: prices.overrides, priceMarkups: markups.markups, priceSettings }
}

/** The TLS certificate and key: PEM files that exist, match, and are not over. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
  /** Authorities of clients' certificates; absent: clients are asked for none. */
  readonly clientCaFile?: string
}

/** TLS_CERT_FILE and TLS_KEY_FILE; `null`: plain HTTP, or a problem was added. */
function readTlsFiles(env: Environment, clientCaFile: string | null, problems: string[]): TlsFiles | null {
  const certFile = readVariable(env, 'TLS_CERT_FILE')
  const keyFile = readVariable(env, 'TLS_KEY_FILE')
  if (certFile === null && keyFile === null) {
    if (clientCaFile !== null)
      problems.push('TLS_CERT_FILE: is not set, and without TLS no proxy shows the certificate of identity')
    return null
  }
  const cert = readPem('TLS_CERT_FILE', certFile, problems)
  const key = readPem('TLS_KEY_FILE', keyFile, problems)
  if (certFile === null || keyFile === null || cert === null || key === null) return null
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    problems.push(
      messageOf(error) === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH' && isBehindOthers(cert, key)
        ? 'TLS_CERT_FILE: begins with a certificate of its chain: write the one that TLS_KEY_FILE is of first'
        : `TLS_CERT_FILE: is not a PEM certificate that matches TLS_KEY_FILE: ${messageOf(error)}`,
    )
    return null
  }
  const endsAt = new Date(new X509Certificate(cert).validTo)
  if (endsAt.getTime() <= Date.now()) {
    problems.push(`TLS_CERT_FILE: the certificate ended ${endsAt.toISOString()}: renew it`)
    return null
  }
  return { certFile, keyFile, ...(clientCaFile === null ? {} : { clientCaFile }) }
}

function isBehindOthers(cert: Buffer, key: Buffer): boolean {
  const own = createPrivateKey(key)
  return certificatesIn(cert.toString('latin1')).some((one) => one.checkPrivateKey(own))
}

function readPem(
  name: 'TLS_CERT_FILE' | 'TLS_KEY_FILE',
  file: string | null,
  problems: string[],
): Buffer | null {
  if (file === null) {
    problems.push(`${name}: is not set, but the other half of HTTPS is`)
    return null
  }
  try {
    return readFileSync(file)
  } catch (error) {
    problems.push(`${name}: cannot read ${file}: ${messageOf(error)}`)
    return null
  }
}
