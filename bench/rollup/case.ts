import { join, relative } from 'node:path'
import { streamNames } from '../../src/domain/redis/redis-names.ts'
import { createLog } from '../../src/lib/log.ts'
import { startNode } from '../../src/standalone/processes/node-process.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { SCHEMA } from '../../src/store/connection/schema.ts'
import type { Stand } from '../stand/stand.ts'
import { type Expected, fillStreams } from './fill.ts'
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

const RETENTION_DAYS = 35
const STOP_MS = 10_000
let run = 0

/**
 * Fills streams, then starts real workers on a fresh database and waits until all is counted.
 *
 * @param checkout Whose workers.
 * @throws When the totals are not exact.
 */
export async function measureCase(
  stand: Stand,
  { workers, shards, clients, calls }: RollUpCase,
  { entries, warmUpPerWorker }: RollUpLoad,
  checkout: string,
): Promise<RolledUpFigures> {
  const log = createLog('silent', 'bench')
  const name = `rollup_${run++}`
  const databaseUrl = new URL(stand.postgres.url)
  const administer = async (statement: string) => {
    const admin = openPostgres(stand.postgres.url, POOL)
    await admin.query(statement)
    await admin.end()
  }
  await administer(`create database ${name}`)
  databaseUrl.pathname = `/${name}`
  const prefix = `${name}:`
  const given = process.env.WORKER_NODE_OPTIONS
  const env = {
    DATABASE_URL: databaseUrl.href,
    REDIS_PREFIX: prefix,
    STREAM_SHARDS: `${shards}`,
    CALL_RETENTION_DAYS: calls ? `${RETENTION_DAYS}` : '0',
    ...(given === undefined ? {} : { NODE_OPTIONS: given }),
  }
  const migrating = await startNode({
    script: join(relative(process.cwd(), checkout), 'src/cli/main.ts'),
    args: ['migrate'],
    env: { PATH: process.env.PATH, REDIS_URL: stand.redis.url, KEY_PEPPER: stand.pepper, ...env },
    logFile: join(stand.folder, `${name}-migrate.log`),
  })
  const ended = await migrating.ended
  if (ended !== 'exit code 0') throw new Error(`the migrations failed: ${migrating.lastWords()}`)

  const pool = openPostgres(databaseUrl.href, POOL)
  const redis = openRedis(stand.redis.url, { name: 'bench', whenAway: 'fail', silenceMs: 10_000, log })
  const running = Array.from({ length: workers }, (_, number) =>
    stand.worker({ name: `${name} ${number}`, env, checkout }),
  )
  try {
    await untilReady(redis, 5_000)
    const streams = streamNames(prefix, shards)
    const warmUp = warmUpPerWorker * workers
    const expected = await fillStreams(redis, pool, streams, { entries: entries + warmUp, clients })
    await pool.query('checkpoint')
    for (const worker of running) await worker.start()
    const figures = await watchRollUp(
      pool,
      redis,
      streams,
      { entries, warmUp },
      {
        workers: running.map(({ pid }) => pid),
        postgres: stand.postgres.pid,
        redis: stand.redis.pid,
      },
    )
    await checkTotals(pool, expected, calls)
    return figures
  } finally {
    for (const worker of running.filter((one) => one.running)) {
      await worker.stop(STOP_MS)
      const said = worker.lastWords(5)
      if (said !== '') console.error(said)
    }
    await dropKeys(redis, prefix)
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
