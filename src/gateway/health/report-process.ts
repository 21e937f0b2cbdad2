import { createHash } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { GatewayConfig } from '../../config/config.ts'
import { pepperId } from '../../domain/api-key.ts'
import { streamNames } from '../../domain/redis/redis-names.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import {
  type CredentialReport,
  NOTHING_REPORTED,
  type ProcessReport,
} from '../../store/processes/process-report.ts'
import type { ReloadableConfig } from '../reloadable-config.ts'
import type { JournalDisk } from './journal-disk.ts'
import type { UpstreamHealth } from './upstream-health.ts'

/** Gateways that differ by these alone have one configuration: each host has its own. */
const OF_A_HOST: ReadonlySet<string> = new Set([
  'host',
  'port',
  'adminHost',
  'adminPort',
  'portalPort',
  'publicUrl',
  'tls',
  'tracing',
  'journalDir',
  'dataDir',
  'logLevel',
  'gatewayProcesses',
  'databaseUrl',
  'databaseReadUrl',
  'redisUrl',
])

/** What gateways of one deployment must have alike, as a hash: keys of upstreams are in it and not to be read from it. */
export function hashConfiguration(config: GatewayConfig): string {
  const text = JSON.stringify(config, (key, value: unknown) => {
    if (OF_A_HOST.has(key)) return undefined
    if (typeof value === 'bigint') return `${value}`
    if (value instanceof Map || value instanceof Set) return [...value]
    return value instanceof RegExp ? value.source : value
  })
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

export interface ReportOptions {
  readonly version: string
  readonly adminAddress: AddressInfo
  readonly configuration: () => string
  readonly reloadable: Pick<ReloadableConfig, 'recordedPrices' | 'reportCredentials'>
  readonly identities: { report(): CredentialReport[] }
  readonly signIns: { report(): CredentialReport[] }
  readonly ledger: Pick<Ledger, 'stats'>
  readonly disk: JournalDisk
  readonly certificateEndsAtMs: () => number | null
  readonly upstreams: UpstreamHealth
  readonly reload: () => ProcessReport['reload']
  readonly config: Pick<GatewayConfig, 'keyPepper' | 'redisPrefix' | 'streamShards'>
}

/** What a gateway process says of itself every five seconds. */
export function reportGateway(options: ReportOptions): () => Promise<Omit<ProcessReport, 'steadyMs'>> {
  const { version, adminAddress, ledger, disk, config, upstreams } = options
  const startedAtMs = Date.now()
  return async () => {
    const { openCalls, journalWritable, uncommittedRecords } = ledger.stats()
    await disk.measure()
    return {
      ...NOTHING_REPORTED,
      host: hostname(),
      startedAtMs,
      version,
      adminAddress: `${adminAddress.address}:${adminAddress.port}`,
      configuration: options.configuration(),
      prices: options.reloadable.recordedPrices().configuration.hash,
      openCalls,
      journalWritable,
      diskBytes: disk.last?.bytes ?? null,
      diskFreeBytes: disk.last?.freeBytes ?? null,
      certificateEndsAtMs: options.certificateEndsAtMs(),
      shards: [...streamNames(config.redisPrefix, config.streamShards)],
      upstreams: upstreams.report(),
      uncommittedRecords,
      reload: options.reload(),
      credentials: [
        ...options.reloadable.reportCredentials(),
        ...options.identities.report(),
        ...options.signIns.report(),
      ],
      pepperIds: config.keyPepper.map(pepperId),
    }
  }
}
