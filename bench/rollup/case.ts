import { join } from 'node:path'
import { createLog } from '../../src/lib/log.ts'
import { type NodeProcess, startNode } from '../../src/standalone/processes/node-process.ts'
import type { PrivateServer } from '../../src/standalone/servers/private-server.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { SCHEMA } from '../../src/store/connection/schema.ts'
import { type Expected, fillStreams, streamsOf } from './fill.ts'
import { type RolledUpFigures, watchRollUp } from './watch.ts'

export interface RollUpCase {
  readonly workers: number
  readonly shards: number
  readonly clients: number
  /** Whether single calls are kept. */
  readonly calls: boolean
}

export interface RollUpLoad {
  /** That are measured, of all workers together. */
  readonly entries: number
  /** That each worker counts before. */
  readonly warmUpPerWorker: number
}

export interface Servers {
  readonly postgres: PrivateServer
  readonly redis: PrivateServer
  readonly folder: string
}

const RETENTION_DAYS = 35
const STOP_MS = 10_000
let run = 0

/**
 * Fills streams, then starts real workers on a fresh database and waits until all is counted.
 *
 * @param checkout Whose workers, from this one's root; '': our own.
 * @throws When the totals are not exact.
 */
export async function measureCase(
  servers: Servers,
  { workers, shards, clients, calls }: RollUpCase,
  { entries, warmUpPerWorker }: RollUpLoad,
  checkout: string,
): Promise<RolledUpFigures> {
  const log = createLog('silent', 'bench')
  const name = `rollup_${run++}`
  const databaseUrl = new URL(servers.postgres.url)
  const administer = async (statement: string) => {
    const admin = openPostgres(servers.postgres.url, POOL)
    await admin.query(statement)
    await admin.end()
  }
  await administer(`create database ${name}`)
  databaseUrl.pathname = `/${name}`
  const env = {
    PATH: process.env.PATH ?? '',
    NODE_ENV: 'production',
    DATABASE_URL: databaseUrl.href,
    REDIS_URL: servers.redis.url,
    REDIS_PREFIX: `${name}:`,
    STREAM_SHARDS: `${shards}`,
    CALL_RETENTION_DAYS: calls ? `${RETENTION_DAYS}` : '0',
    PRICES_REFRESH: 'off',
    LOG_LEVEL: 'warn',
    ...(process.env.WORKER_NODE_OPTIONS === undefined
      ? {}
      : { NODE_OPTIONS: process.env.WORKER_NODE_OPTIONS }),
  }
  const logFile = (of: string) => join(servers.folder, `${name}-${of}.log`)
  const script = (path: string) => (checkout === '' ? path : `${checkout}/${path}`)
  const migrating = await startNode({
    script: script('src/cli/main.ts'),
    args: ['migrate'],
    env,
    logFile: logFile('migrate'),
  })
  const ended = await migrating.ended
  if (ended !== 'exit code 0') throw new Error(`the migrations failed: ${migrating.lastWords()}`)

  const pool = openPostgres(databaseUrl.href, POOL)
  const redis = openRedis(servers.redis.url, { name: 'bench', whenAway: 'fail', silenceMs: 10_000, log })
  const running: NodeProcess[] = []
  try {
    await untilReady(redis, 5_000)
    const streams = streamsOf(env.REDIS_PREFIX, shards)
    const warmUp = warmUpPerWorker * workers
    const expected = await fillStreams(redis, pool, streams, { entries: entries + warmUp, clients })
    await pool.query('checkpoint')
    for (let worker = 0; worker < workers; worker += 1) {
      running.push(await startNode({ script: script('workers/main.ts'), env, logFile: logFile(`${worker}`) }))
    }
    const figures = await watchRollUp(
      pool,
      redis,
      streams,
      { entries, warmUp },
      {
        workers: running.map(({ pid }) => pid),
        postgres: servers.postgres.pid,
        redis: servers.redis.pid,
      },
    )
    await checkTotals(pool, expected, calls)
    return figures
  } finally {
    await Promise.all(running.map((worker) => worker.stop(STOP_MS)))
    for (const worker of running) if (worker.lastWords(5) !== '') console.error(worker.lastWords(5))
    await dropKeys(redis, env.REDIS_PREFIX)
    redis.disconnect()
    await pool.end()
    await administer(`drop database ${name} with (force)`)
  }
}

const POOL = {
  max: 2,
  statementTimeoutMs: 60_000,
  applicationName: 'bench',
  log: createLog('silent', 'bench'),
}

async function checkTotals(pool: Postgres, expected: Expected, calls: boolean): Promise<void> {
  const { rows } = await pool.query(
    `select sum(requests)::int8 as requests, sum(input_tokens)::int8 as "inputTokens",
       sum(cost_pico)::text as "costPico", (select count(*) from ${SCHEMA}.calls) as calls
     from ${SCHEMA}.daily_usage`,
  )
  const wanted = {
    requests: `${expected.requests}`,
    inputTokens: `${expected.inputTokens}`,
    costPico: `${expected.costPico}`,
    calls: `${calls ? expected.requests : 0}`,
  }
  const found = JSON.stringify(rows[0])
  if (found !== JSON.stringify(wanted))
    throw new Error(`the totals are wrong: ${found} instead of ${JSON.stringify(wanted)}`)
}

async function dropKeys(redis: Redis, prefix: string): Promise<void> {
  const keys = await redis.keys(`${prefix}*`)
  if (keys.length > 0) await redis.unlink(...keys)
}
