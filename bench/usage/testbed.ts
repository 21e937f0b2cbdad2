import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createClientKey } from '../../src/keys/keys.ts'
import { createLog } from '../../src/lib/log.ts'
import { until } from '../../src/lib/until.ts'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { startNode } from '../../src/standalone/processes/node-process.ts'
import { startPostgres } from '../../src/standalone/servers/postgres.ts'
import { startRedis } from '../../src/standalone/servers/redis.ts'
import { findRedisProgram } from '../../src/standalone/servers/redis-program.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import type { CleanUp } from '../overhead/targets/own-process.ts'

const PEPPER = 'bench-pepper'
const TOKEN = 'bench-token'
/** The same in every run: a filled database may be asked again. */
const PASSWORD = 'bench'
const READY_WITHIN_MS = 60_000

/** A database, migrated. */
export interface Database {
  readonly url: string
  readonly postgresPid: number
  readonly pool: Postgres
}

export async function openDatabase(folder: string, cleanUp: CleanUp): Promise<Database> {
  mkdirSync(folder, { recursive: true })
  const log = createLog('silent', 'bench')
  const postgres = await startPostgres({
    folder: join(folder, 'postgres'),
    password: PASSWORD,
    durable: false,
  })
  cleanUp.push(() => postgres.stop())
  await migrate(postgres.url, log)
  const limits = { max: 4, statementTimeoutMs: 3_600_000, applicationName: 'bench', log }
  const pool = openPostgres(postgres.url, limits)
  cleanUp.push(() => pool.end())
  return { url: postgres.url, postgresPid: postgres.pid, pool }
}

/** Asks a gateway, as clients do and as the operator does. */
export interface Gateway {
  /** @param key Of a client. */
  askAsClient(key: string, path: string): Promise<Answer>
  askAsOperator(path: string): Promise<Answer>
}

export interface Answer {
  readonly status: number
  readonly bytes: number
  readonly ms: number
}

/** A gateway process with a Redis of its own; without a worker, so that all clients are idle. */
export async function startGateway(folder: string, databaseUrl: string, cleanUp: CleanUp): Promise<Gateway> {
  const program = await findRedisProgram({ say: console.error, ask: async () => true })
  const redis = await startRedis({
    folder: join(folder, 'redis'),
    password: PASSWORD,
    durable: false,
    program,
  })
  cleanUp.push(() => redis.stop())
  const [port, adminPort] = [await findFreePort(), await findFreePort()]
  const gateway = await startNode({
    script: 'src/gateway/server.ts',
    env: {
      PATH: process.env.PATH ?? '',
      NODE_ENV: 'production',
      PRICES_REFRESH: 'off',
      UPSTREAM_URL: 'http://127.0.0.1:9',
      HOST: '127.0.0.1',
      PORT: `${port}`,
      ADMIN_PORT: `${adminPort}`,
      ADMIN_TOKEN: TOKEN,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis.url,
      KEY_PEPPER: PEPPER,
      TALLYGATE_DATA_DIR: folder,
    },
    logFile: join(folder, 'gateway.log'),
  })
  cleanUp.push(() => gateway.stop(10_000))
  const isReady = async () => {
    if (!gateway.running) throw new Error(`the gateway ended:\n${gateway.lastWords(10)}`)
    return (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok === true ? true : null
  }
  if ((await until(isReady, { timeoutMs: READY_WITHIN_MS, everyMs: 50 })) === null) {
    throw new Error(`the gateway does not get ready:\n${gateway.lastWords(10)}`)
  }
  return {
    askAsClient: (key, path) => ask(`http://127.0.0.1:${port}${path}`, key),
    askAsOperator: (path) => ask(`http://127.0.0.1:${adminPort}/admin/v1/${path}`, TOKEN),
  }
}

async function ask(url: string, token: string): Promise<Answer> {
  const startedMs = performance.now()
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  const { byteLength } = await response.arrayBuffer()
  return { status: response.status, bytes: byteLength, ms: performance.now() - startedMs }
}

/** Keys of so many clients, which have used nothing since the database was filled. */
export async function createIdleKeys(pool: Postgres, clients: number): Promise<readonly string[]> {
  const keys: string[] = []
  for (let number = 1; number <= clients; number += 1) {
    const order = { client: `client ${number}`, name: 'asking', models: null, expiresInSeconds: null }
    keys.push((await createClientKey(pool, order, PEPPER))?.key ?? '')
  }
  return keys
}
