import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { streamNames } from '../../src/domain/redis/redis-names.ts'
import { createClient } from '../../src/keys/clients.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import { createLog } from '../../src/lib/log.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { startPrivatePostgres, startPrivateRedis } from '../../test/support/servers/servers.ts'
import { stopWithMe } from '../../test/support/stop-with-me.ts'
import { type Child, childProcess } from '../chaos/child.ts'
import { claimLastingPort } from '../chaos/lasting-port.ts'
import { CLIENTS, KEYS_PER_CLIENT } from './plan.ts'

/** The whole of a deployment, each part a process of its own as in production. */
export interface SoakRig {
  readonly port: number
  readonly originPort: number
  readonly gateway: Child
  readonly workers: readonly Child[]
  readonly postgres: { readonly pid: number }
  readonly redis: { readonly pid: number; readonly url: string }
  /** Straight to Postgres. */
  readonly pool: Postgres
  readonly clientIds: readonly string[]
  /** By client, then by key. */
  readonly keys: readonly (readonly string[])[]
  readonly streams: readonly string[]
  readonly journalDir: string
  stop(): Promise<void>
}

export interface SoakRigOptions {
  readonly processes: number
  readonly workers: number
  readonly shards: number
}

const REDIS_PREFIX = 'tallygate:'

/** Starts it on free loopback ports; all ends with this process. */
export async function startSoakRig({ processes, workers, shards }: SoakRigOptions): Promise<SoakRig> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-soak-'))
  const end = stopWithMe(folder)
  const log = createLog('silent', 'soak')
  const [postgres, redis, origin, port] = await Promise.all([
    startPrivatePostgres({ durable: true }),
    startPrivateRedis({ durable: true }),
    startOrigin(),
    claimLastingPort(),
  ])
  await migrate(postgres.url, log)
  const pool = openPostgres(postgres.url, {
    max: 2,
    statementTimeoutMs: 60_000,
    applicationName: 'soak',
    log,
  })
  const pepper = randomBytes(16).toString('hex')
  const { clientIds, keys } = await makeKeys(pool, pepper)
  const env = {
    UPSTREAM_URL: `http://127.0.0.1:${origin.port}`,
    UPSTREAM_PROVIDER: 'openai',
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    REDIS_PREFIX,
    STREAM_SHARDS: `${shards}`,
    KEY_PEPPER: pepper,
    PRICES_REFRESH: 'off',
    LOG_LEVEL: 'warn',
  }
  const journalDir = join(folder, 'journal')
  const gateway = childProcess({
    name: 'gateway',
    script: 'src/gateway/server.ts',
    env: {
      ...env,
      // As `npm run gateway` starts it.
      NODE_OPTIONS: '--max-semi-space-size=16 --v8-pool-size=1',
      MALLOC_ARENA_MAX: '1',
      MALLOC_TRIM_THRESHOLD_: '262144',
      GATEWAY_PROCESSES: `${processes}`,
      HOST: '127.0.0.1',
      PORT: `${port}`,
      ADMIN_PORT: '0',
      JOURNAL_DIR: journalDir,
    },
    logFile: join(folder, 'gateway.log'),
    isReady: async () =>
      await fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
  })
  const counting = Array.from({ length: workers }, (_, number) =>
    childProcess({
      name: `worker ${number}`,
      script: 'workers/main.ts',
      env: {
        ...env,
        NODE_OPTIONS: '--v8-pool-size=1',
        MALLOC_ARENA_MAX: '1',
        MALLOC_TRIM_THRESHOLD_: '262144',
      },
      logFile: join(folder, `worker-${number}.log`),
      isReady: async () => true,
    }),
  )
  await Promise.all([gateway, ...counting].map((child) => child.start()))
  return {
    port,
    originPort: origin.port,
    gateway,
    workers: counting,
    postgres,
    redis,
    pool,
    clientIds,
    keys,
    streams: streamNames(REDIS_PREFIX, shards),
    journalDir,
    async stop() {
      await Promise.all([gateway, ...counting].map((child) => child.kill()))
      origin.kill()
      await pool.end()
      await Promise.all([postgres.stop(), redis.stop()])
      await end.now()
    },
  }
}

async function makeKeys(pool: Postgres, pepper: string) {
  const clientIds: string[] = []
  const keys: string[][] = []
  for (let number = 0; number < CLIENTS; number += 1) {
    const client = `client-${number}`
    clientIds.push((await createClient(pool, client))?.id ?? '')
    const own: string[] = []
    for (let key = 0; key < KEYS_PER_CLIENT; key += 1) {
      const order = { client, name: `key-${key}`, models: null, expiresInSeconds: null }
      own.push((await createClientKey(pool, order, pepper))?.key ?? '')
    }
    keys.push(own)
  }
  return { clientIds, keys }
}

async function startOrigin(): Promise<{ readonly port: number; kill(): void }> {
  const child = fork('bench/soak/origin.ts', {
    execArgv: ['--import', './src/standalone/processes/die-with-parent.ts'],
    silent: true,
  })
  if (child.stdout === null) throw new Error('the origin has no output')
  const [line] = await once(child.stdout, 'data')
  return { port: Number(line), kill: () => void child.kill('SIGKILL') }
}
