import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '../../src/keys/clients.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import { createLog } from '../../src/lib/log.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { startPrivatePostgres, startPrivateRedis } from '../../test/support/servers/servers.ts'
import { stopWithMe } from '../../test/support/stop-with-me.ts'
import { type Child, childProcess } from '../chaos/child.ts'

/** Gateways, workers and stores, each a process of its own as in production. */
export interface LagRig {
  /** One for each gateway. */
  readonly ports: readonly number[]
  readonly clients: readonly BenchClient[]
  /** Straight to Postgres. */
  readonly pool: Postgres
  stop(): Promise<void>
}

export interface BenchClient {
  readonly id: string
  readonly key: string
}

export interface LagRigOptions {
  readonly clients: number
  readonly workers: number
  readonly shards: number
  readonly gateways: number
  /** Of each gateway. */
  readonly processes: number
}

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
})

/** Starts it on free loopback ports; all ends with this process. */
export async function startLagRig(options: LagRigOptions): Promise<LagRig> {
  const { clients, workers, shards, gateways, processes } = options
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-lag-'))
  const end = stopWithMe(folder)
  const log = createLog('silent', 'lag')
  const [postgres, redis, upstream] = await Promise.all([
    startPrivatePostgres({ durable: true }),
    startPrivateRedis({ durable: true }),
    startUpstream(),
  ])
  const ports: number[] = []
  for (let number = 0; number < gateways; number += 1) ports.push(await freePort())
  await migrate(postgres.url, log)
  const pool = openPostgres(postgres.url, {
    max: 4,
    statementTimeoutMs: 10_000,
    applicationName: 'lag',
    log,
  })
  const pepper = randomBytes(16).toString('hex')
  const made: BenchClient[] = []
  for (let number = 0; number < clients; number += 1) {
    const name = `client-${number}`
    const client = await createClient(pool, name)
    const order = { client: name, name: 'default', models: null, expiresInSeconds: null }
    const key = await createClientKey(pool, order, pepper)
    if (client === null || key === null) throw new Error(`${name} was not made`)
    made.push({ id: client.id, key: key.key })
  }
  const env = {
    UPSTREAM_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    UPSTREAM_PROVIDER: 'openai',
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    STREAM_SHARDS: `${shards}`,
    KEY_PEPPER: pepper,
    LOG_LEVEL: 'warn',
  }
  const taking = ports.map((port, number) =>
    childProcess({
      name: `gateway ${number}`,
      script: 'src/gateway/server.ts',
      env: {
        ...env,
        HOST: '127.0.0.1',
        PORT: `${port}`,
        ADMIN_PORT: '0',
        GATEWAY_PROCESSES: `${processes}`,
        JOURNAL_DIR: join(folder, 'journal'),
      },
      logFile: join(folder, `gateway-${number}.log`),
      isReady: async () =>
        await fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
    }),
  )
  const counting = Array.from({ length: workers }, (_, number) =>
    childProcess({
      name: `worker ${number}`,
      script: 'workers/main.ts',
      env,
      logFile: join(folder, `worker-${number}.log`),
      isReady: async () => true,
    }),
  )
  const children: readonly Child[] = [...taking, ...counting]
  await Promise.all(children.map((child) => child.start()))
  return {
    ports,
    clients: made,
    pool,
    async stop() {
      await Promise.all(children.map((child) => child.kill()))
      upstream.closeAllConnections()
      upstream.close()
      await pool.end()
      await Promise.all([postgres.stop(), redis.stop()])
      await end.now()
    },
  }
}

async function startUpstream(): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(ANSWER) }
      response.writeHead(200, headers).end(ANSWER)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
