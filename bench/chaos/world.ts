import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { streamNames } from '../../src/domain/redis/redis-names.ts'
import { createClient } from '../../src/keys/clients.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import { createLog } from '../../src/lib/log.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import {
  startPrivatePostgres,
  startPrivateRedis,
  type TestServer,
} from '../../test/support/servers/servers.ts'
import { stopWithMe } from '../../test/support/stop-with-me.ts'
import { Allowances } from './allowances.ts'
import { type Child, childProcess } from './child.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { type Gateway, startableGateway } from './gateway.ts'
import { claimLastingPort } from './lasting-port.ts'
import { mountOwnFileSystem, type OwnFileSystem } from './own-file-system.ts'
import { CLIENTS } from './tokens.ts'

/** Everything that a chaos run mistreats. */
export interface World {
  readonly postgres: TestServer
  readonly redis: TestServer
  /** What gateways and workers reach the servers through, and gateways the upstream. */
  readonly proxies: {
    readonly postgres: FaultProxy
    readonly redis: FaultProxy
    readonly upstream: FaultProxy
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
  /** Straight to the servers, without proxies between, and nothing loaded into gateways but `preloads`: for figures. */
  readonly direct?: boolean
  readonly preloads?: readonly string[]
}

/** Loaded first into gateways: means to make them die at a moment of our choice, and to slow their disks down. */
const PRELOADS = ['./crash-point.ts', './recorded-syncs.ts', './refusing-disk.ts', './small-segments.ts']
const REDIS_PREFIX = 'tallygate:'
/** That a fault may give to a gateway. */
export const MOST_SHARDS = 4

/** Starts servers, proxies, upstream, gateways and workers on free loopback ports; all end with this process. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { shards = 1, processes = 1 } = options
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-chaos-'))
  const end = stopWithMe(folder)
  const journalDisk = options.ownJournalDisk === true ? await mountOwnFileSystem() : 'not asked for'
  const journalDir = join(typeof journalDisk === 'string' ? folder : journalDisk.folder, 'journal')
  const upstreamLedgerFile = join(folder, 'upstream.ledger')
  const log = createLog('silent', 'chaos')
  const [postgres, redis, upstream] = await Promise.all([
    startPrivatePostgres({ durable: true, port: await claimLastingPort() }),
    startPrivateRedis({ durable: true, port: await claimLastingPort() }),
    startUpstream(upstreamLedgerFile),
  ])
  const proxies = {
    postgres: await startFaultProxy(postgres.port),
    redis: await startFaultProxy(redis.port),
    upstream: await startFaultProxy(upstream.port),
  }
  await migrate(postgres.url, log)
  const pool = openPostgres(postgres.url, {
    max: 4,
    statementTimeoutMs: 10_000,
    applicationName: 'chaos',
    log,
  })
  const pepper = randomBytes(16).toString('hex')
  const keys: string[] = []
  for (const client of CLIENTS) {
    await createClient(pool, client)
    const order = { client, name: 'default', models: null, expiresInSeconds: null }
    keys.push((await createClientKey(pool, order, pepper))?.key ?? '')
  }

  const config = join(folder, 'tallygate.yaml')
  const upstreamUrl = `http://127.0.0.1:${options.direct === true ? upstream.port : proxies.upstream.port}`
  await writeFile(
    config,
    `upstreams:
  - { name: openai, url: '${upstreamUrl}', provider: openai, path_prefix: /openai }
  - { name: anthropic, url: '${upstreamUrl}', provider: anthropic, path_prefix: /anthropic }
models: [{ id: gpt-4o-mini, owned_by: openai }]
`,
  )
  const through = (url: string, proxy: FaultProxy) => {
    if (options.direct === true) return url
    const changed = new URL(url)
    changed.port = `${proxy.port}`
    return changed.href
  }
  const env = {
    TALLYGATE_CONFIG: config,
    DATABASE_URL: through(postgres.url, proxies.postgres),
    REDIS_URL: through(redis.url, proxies.redis),
    REDIS_PREFIX,
    KEY_PEPPER: pepper,
    LOG_LEVEL: 'warn',
  }
  const gateways: Gateway[] = []
  for (let number = 0; number < options.gateways; number += 1) {
    gateways.push(
      await startableGateway({
        name: `gateway ${number}`,
        folder,
        journalDir,
        processes: number === 0 ? processes : 1,
        shards,
        env: {
          ...env,
          CHAOS_FOLDER: folder,
          CHAOS_UPSTREAM_PORT: `${proxies.upstream.port}`,
          ...options.gatewayEnv,
        },
        preloads: options.direct === true ? (options.preloads ?? []) : PRELOADS,
      }),
    )
  }
  const workers = Array.from({ length: options.workers }, (_, number) =>
    childProcess({
      name: `worker ${number}`,
      script: 'bench/chaos/worker.ts',
      args: [`${options.gapPatienceMs}`],
      env,
      logFile: join(folder, `worker-${number}.log`),
      isReady: async () => true,
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
    allowances: new Allowances(),
    async stop() {
      await Promise.all([...gateways, ...workers].map((child) => child.kill()))
      upstream.kill()
      await pool.end()
      await Promise.all(Object.values(proxies).map((proxy) => proxy.close()))
      await Promise.all([postgres.stop(), redis.stop()])
      if (typeof journalDisk !== 'string') await journalDisk.stop()
      await end.now()
    },
  }
}

async function startUpstream(ledgerFile: string): Promise<{ readonly port: number; kill(): void }> {
  const child = fork('bench/chaos/upstream.ts', [ledgerFile], {
    execArgv: ['--import', './src/standalone/processes/die-with-parent.ts'],
    silent: true,
  })
  if (child.stdout === null) throw new Error('the upstream has no output')
  const [line] = await once(child.stdout, 'data')
  return { port: Number(line), kill: () => void child.kill('SIGKILL') }
}
