import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { type RunningGateway, runGateway } from '../../../src/gateway/run-gateway.ts'
import { createClient } from '../../../src/keys/clients.ts'
import { createClientKey } from '../../../src/keys/keys.ts'
import { createLog } from '../../../src/lib/log.ts'
import { until } from '../../../src/lib/repeat.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import type { StoreClock } from '../../../src/store/processes/store-clock.ts'
import { startWorkers, type Workers } from '../../../workers/workers.ts'
import { patienceMs } from '../patience.ts'
import { createTestDatabase, RETENTION_DAYS } from './database.ts'
import { testRedisPrefix } from './redis.ts'

/** One client with one key. */
export interface TestClient {
  readonly name: string
  readonly id: string
  readonly keyId: string
  readonly key: string
}

/** What `GET /v1/usage` answers. */
export interface Summary {
  readonly client: string
  readonly period_days: number
  readonly requests: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly total_tokens: number
  readonly avg_latency_ms: number
  readonly cost_usd: number
  readonly data?: readonly Record<string, unknown>[]
  /** Only with `include=limits`. */
  readonly limits?: readonly Record<string, unknown>[]
}

/** A gateway and a worker in this process, on a database and a prefix of their own. */
export interface TestStack {
  readonly url: string
  readonly pool: Postgres
  readonly redisPrefix: string
  readonly journalDir: string
  readonly env: Readonly<Record<string, string>>
  readonly gateway: RunningGateway
  addClient(name: string, order?: { readonly models?: readonly string[] }): Promise<TestClient>
  usage(client: TestClient, query?: string): Promise<Summary>
  /** The summary once it says `requests`; fails in the end with what it said last. */
  usageOf(client: TestClient, requests: number): Promise<Summary>
  /** A client's rows of `calls`, by arrival. */
  calls(client: TestClient): Promise<readonly Record<string, unknown>[]>
  stop(): Promise<void>
}

export const PEPPER = 'pepper-of-the-tests-0123456789'

export interface StackOptions {
  readonly env?: Readonly<Record<string, string>>
  /** In place of the run's shared servers. */
  readonly databaseUrl?: string
  readonly redisUrl?: string
  readonly workers?: boolean
  /** By which the gateway goes. */
  readonly clock?: StoreClock
}

export async function startStack(upstreamUrl: string, options: StackOptions = {}): Promise<TestStack> {
  const database = options.databaseUrl === undefined ? await createTestDatabase() : null
  const databaseUrl = options.databaseUrl ?? database?.url ?? ''
  const prefix = testRedisPrefix()
  const journalDir = await mkdtemp(join(tmpdir(), 'tallygate-test-journal-'))
  const env = {
    UPSTREAM_URL: upstreamUrl,
    UPSTREAM_PROVIDER: 'openai',
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: databaseUrl,
    REDIS_URL: options.redisUrl ?? prefix.redisUrl,
    REDIS_PREFIX: prefix.prefix,
    KEY_PEPPER: PEPPER,
    JOURNAL_DIR: journalDir,
    CALL_RETENTION_DAYS: `${RETENTION_DAYS}`,
    LOG_LEVEL: 'silent',
    ...options.env,
  }
  const config = loadGatewayConfig(env)
  const log = createLog(config.logLevel, 'test')
  const gateway = await runGateway(config, log, options.clock)
  const workers: Workers | null = options.workers === false ? null : startWorkers({ ...config, log })
  const pool = openPostgres(databaseUrl, { max: 4, statementTimeoutMs: 10_000, applicationName: 'test', log })
  const url = `${config.tls === null ? 'http' : 'https'}://127.0.0.1:${gateway.address.port}${config.basePath}`

  const countedOf = async ({ id }: TestClient): Promise<string> => {
    const { rows } = await pool.query<{ counted: string }>(
      'select coalesce(sum(requests), 0) as counted from tallygate.daily_usage where client_id = $1',
      [id],
    )
    return rows[0]?.counted ?? ''
  }
  /** Until another number is counted, a second at most. To ask the database is a tenth of what an answer takes. */
  const untilCounted = async (client: TestClient, before: string) => {
    const isOther = async () => ((await countedOf(client)) === before ? null : true)
    await until(isOther, { timeoutMs: 1_000, everyMs: 50 })
  }

  const stack: TestStack = {
    url,
    pool,
    redisPrefix: prefix.prefix,
    journalDir,
    env,
    gateway,
    async addClient(name, order = {}) {
      const client = await createClient(pool, name)
      const made = await createClientKey(
        pool,
        { client: name, name: 'default', models: order.models ?? null, expiresInSeconds: null },
        PEPPER,
      )
      if (client === null || made === null) throw new Error(`no client ${name}`)
      return { name, id: client.id, keyId: made.id, key: made.key }
    },
    async usage(client, query = '') {
      const answer = await fetch(`${url}/v1/usage${query}`, {
        headers: { authorization: `Bearer ${client.key}` },
      })
      if (answer.status !== 200) throw new Error(`usage: ${answer.status} ${await answer.text()}`)
      return (await answer.json()) as Summary
    },
    async usageOf(client, requests) {
      const deadline = performance.now() + patienceMs()
      while (true) {
        const counted = await countedOf(client)
        const summary = await stack.usage(client)
        if (summary.requests === requests) return summary
        if (performance.now() > deadline)
          throw new Error(`wanted ${requests} requests: ${JSON.stringify(summary)}`)
        await untilCounted(client, counted)
      }
    },
    async calls(client) {
      const { rows } = await pool.query(
        'select * from tallygate.calls where client_id = $1 order by arrived_at',
        [client.id],
      )
      return rows
    },
    async stop() {
      await gateway.stop()
      await workers?.close()
      await pool.end()
      await Promise.all([prefix.drop(), database?.drop(), rm(journalDir, { recursive: true, force: true })])
    },
  }
  return stack
}
