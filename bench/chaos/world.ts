import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { streamNames } from '../../src/domain/redis/redis-names.ts'
import { ANTHROPIC_MODEL, CLIENTS, TARGETS } from '../../src/standalone/prove/planned-calls.ts'
import type { Child } from '../../src/standalone/stand/child.ts'
import { startOwnProcess } from '../../src/standalone/stand/own-process.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import type { TestServer } from '../../test/support/servers/servers.ts'
import { startStand } from '../stand/stand.ts'
import { Allowances } from './allowances.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { type Gateway, preloadsOf, startableGateway } from './gateway.ts'
import { mountOwnFileSystem, type OwnFileSystem } from './own-file-system.ts'
import { setBudget } from './routed.ts'

/** Everything that a chaos run mistreats. */
export interface World {
  readonly postgres: TestServer
  readonly redis: TestServer
  /** What gateways and workers reach the servers through, and gateways the upstream. */
  readonly proxies: {
    readonly postgres: FaultProxy
    readonly redis: FaultProxy
    /** One before each target of routes, or one before the only upstream. */
    readonly upstreams: readonly FaultProxy[]
  }
  readonly gateways: readonly Gateway[]
  readonly workers: readonly Child[]
  /** Straight to Postgres, for faults and the audit. */
  readonly pool: Postgres
  /** One for each of {@link CLIENTS}. */
  readonly keys: readonly string[]
  readonly journalDir: string
  /** Where processes that are mistreated leave word. */
  readonly recordFolder: string
  /** Has `journalDir` for itself; or why it is not there. */
  readonly journalDisk: OwnFileSystem | string
  /** The full keys of all streams that gateways may spread their records over. */
  readonly streams: readonly string[]
  readonly upstreamLedgerFile: string
  /** A call may be sent upstream several times. */
  readonly isRouted: boolean
  /** From now on every target of routes serves. */
  heal(): void
  /** What faults destroyed on purpose. */
  readonly allowances: Allowances
  stop(): Promise<void>
}

export interface WorldOptions {
  readonly gateways: number
  readonly workers: number
  /** After which workers give up on a gap. */
  readonly gapPatienceMs: number
  /** Streams side by side; absent: 1. */
  readonly shards?: number
  /** Of the first gateway, which is a cluster where they are several; absent: 1. */
  readonly processes?: number
  /** Whether journals are to have a file system for themselves, where one can be mounted. */
  readonly ownJournalDisk?: boolean
  readonly gatewayEnv?: Readonly<Record<string, string>>
  /** Calls go by routes to three targets each, which are ill in turn, in every way. */
  readonly routes?: boolean
  /** More of the configuration, in YAML. */
  readonly configuration?: string
  /** Straight to the servers, without proxies between, and nothing loaded into gateways but `preloads`: for figures. */
  readonly direct?: boolean
  readonly preloads?: readonly string[]
}

/** Loaded first into gateways: means to make them die at a moment of our choice, and to slow their disks down. */
const PRELOADS = ['./crash-point.ts', './recorded-syncs.ts', './refusing-disk.ts', './small-segments.ts']
export const REDIS_PREFIX = 'tallygate:'
/** That a fault may give to a gateway. */
export const MOST_SHARDS = 4

export function proxiesOf({ postgres, redis, upstreams }: World['proxies']): readonly FaultProxy[] {
  return [postgres, redis, ...upstreams]
}

/** @returns YAML of the targets, which goes on with that of the routes to them. */
function routes(urls: readonly string[]): string {
  const upstreams = ['openai', 'anthropic'].flatMap((provider) =>
    TARGETS.map(
      (name, place) =>
        `  - { name: ${name}-${provider}, url: '${urls[place]}/${name}', provider: ${provider}, path_prefix: /${name}-${provider} }`,
    ),
  )
  const route = (model: string, provider: string) => {
    const to = TARGETS.map((name) => `{ upstream: ${name}-${provider} }`)
    return `  - { model: ${model}, to: [${to.join(', ')}], first_byte_timeout: 5s }`
  }
  return [
    ...upstreams,
    'routes:',
    route('gpt-4o-mini', 'openai'),
    route('gpt-4o', 'openai'),
    route(ANTHROPIC_MODEL, 'anthropic'),
  ].join('\n')
}

/** Starts servers, proxies, upstream, gateways and workers; all end with this process. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { shards = 1, processes = 1, direct = false, preloads = [] } = options
  const stand = await startStand({ name: 'chaos', statementTimeoutMs: 10_000 })
  const { folder, postgres, redis, pool } = stand
  const journalDisk = options.ownJournalDisk === true ? await mountOwnFileSystem() : 'not asked for'
  const journalDir = join(typeof journalDisk === 'string' ? folder : journalDisk.folder, 'journal')
  const upstreamLedgerFile = join(folder, 'upstream.ledger')
  const upstream = await startOwnProcess('src/standalone/prove/stand-in.ts', {}, [upstreamLedgerFile])
  const proxies = {
    postgres: await startFaultProxy(postgres.port),
    redis: await startFaultProxy(redis.port),
    upstreams: await Promise.all(
      (options.routes === true ? TARGETS : ['only']).map(() => startFaultProxy(upstream.port)),
    ),
  }
  const keys: string[] = []
  for (const name of CLIENTS) {
    const client = await stand.addClient(name)
    keys.push(client.key)
    if (options.routes === true) await setBudget(pool, client.id)
  }

  const config = join(folder, 'tallygate.yaml')
  const upstreamPorts = direct ? [upstream.port] : proxies.upstreams.map(({ port }) => port)
  const upstreamUrls = upstreamPorts.map((port) => `http://127.0.0.1:${port}`)
  const [upstreamUrl] = upstreamUrls
  await writeFile(
    config,
    `upstreams:
  - { name: openai, url: '${upstreamUrl}', provider: openai, path_prefix: /openai }
  - { name: anthropic, url: '${upstreamUrl}', provider: anthropic, path_prefix: /anthropic }
${options.routes === true ? routes(upstreamUrls) : ''}
models: [{ id: gpt-4o-mini, owned_by: openai }]
${options.configuration ?? ''}
`,
  )
  const through = (url: string, proxy: FaultProxy) => {
    const changed = new URL(url)
    if (!direct) changed.port = `${proxy.port}`
    return changed.href
  }
  const env = {
    TALLYGATE_CONFIG: config,
    DATABASE_URL: through(postgres.url, proxies.postgres),
    REDIS_URL: through(redis.url, proxies.redis),
  }
  const gateways: Gateway[] = []
  for (let number = 0; number < options.gateways; number += 1) {
    gateways.push(
      await startableGateway(stand, {
        name: `gateway ${number}`,
        journalDir,
        processes: number === 0 ? processes : 1,
        shards,
        env: {
          ...env,
          CHAOS_FOLDER: folder,
          CHAOS_UPSTREAM_PORTS: upstreamPorts.join(','),
          ...options.gatewayEnv,
        },
        preloads: direct ? preloads : PRELOADS,
      }),
    )
  }
  const workers = Array.from({ length: options.workers }, (_, number) =>
    stand.worker({
      name: `worker ${number}`,
      script: 'bench/chaos/worker.ts',
      args: [`${options.gapPatienceMs}`],
      env,
      preloads: preloadsOf([]),
    }),
  )
  await Promise.all([...gateways, ...workers].map((child) => child.start()))

  return {
    postgres,
    redis,
    proxies,
    gateways,
    workers,
    pool,
    keys,
    journalDir,
    recordFolder: folder,
    journalDisk,
    streams: streamNames(REDIS_PREFIX, Math.max(shards, MOST_SHARDS)),
    upstreamLedgerFile,
    isRouted: options.routes === true,
    heal: () => void upstream.child.send('heal'),
    allowances: new Allowances(),
    async stop() {
      await Promise.all([...gateways, ...workers].map((child) => child.kill()))
      await Promise.all(proxiesOf(proxies).map((proxy) => proxy.close()))
      if (typeof journalDisk !== 'string') await journalDisk.stop()
      await stand.stop()
    },
  }
}
