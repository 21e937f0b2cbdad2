import { spawnSync } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { Redis } from 'ioredis'
import pg from 'pg'
import { shownAddress } from '../../../src/standalone/data-folder/settings.ts'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { findPrograms } from '../../../src/standalone/servers/postgres-programs.ts'
import { findRedisProgram } from '../../../src/standalone/servers/redis-program.ts'
import { NEEDED_BYTES } from '../temporary-folder.ts'

/** What the tests find on a machine. Each function throws where there is none. */
export interface Host {
  readonly nodeVersion: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** How long a server that is given may take to answer. */
  readonly answerMs: number
  findRedis(): Promise<unknown>
  findPostgres(): Promise<unknown>
  findPort(): Promise<unknown>
  /** In the folder for temporary files, which has the data of servers. */
  freeBytes(): Promise<number>
}

const OLDEST_NODE = 24

/** The one that the tests run on. */
export const thisHost: Host = {
  nodeVersion: process.versions.node,
  env: process.env,
  answerMs: 5_000,
  findRedis: () =>
    findRedisProgram({
      say: (line) => console.error(line),
      ask: async () => true, // tests install what they need
    }),
  async findPostgres() {
    const { postgres } = await findPrograms()
    if (spawnSync(postgres, ['--version']).status !== 0) throw new Error(`${postgres} does not run`)
  },
  findPort: findFreePort,
  async freeBytes() {
    const { bavail, bsize } = await statfs(tmpdir())
    return bavail * bsize
  },
}

/**
 * Ends the run before its first test where this machine lacks something, and says all of it. Without this every test
 * that needs it would fail, each with an error of its own.
 */
export async function checkHost(host = thisHost): Promise<void> {
  const problems = await findProblems(host)
  if (problems.length === 0) return
  console.error(['The tests cannot run on this machine:', ...problems.map((one) => `- ${one}`)].join('\n'))
  process.exit(1)
}

/** One sentence for each thing that is missing. */
export async function findProblems(host: Host): Promise<string[]> {
  const checks = [checkNode, checkRedis, checkPostgres, checkDisk, checkPorts]
  const problems = await Promise.all(checks.map((check) => check(host)))
  return problems.filter((problem) => problem !== null)
}

function checkNode({ nodeVersion }: Host): string | null {
  if (Number(nodeVersion.split('.')[0]) >= OLDEST_NODE) return null
  return `Node.js ${nodeVersion} is older than ${OLDEST_NODE}: run the tests with npm test, or run "npm rebuild node --ignore-scripts=false" where npm blocks install scripts.`
}

async function checkRedis({ env, answerMs, findRedis }: Host): Promise<string | null> {
  const url = env.TEST_REDIS_URL
  if (url) return await whyUnusable('TEST_REDIS_URL', url, () => pingRedis(url, answerMs))
  const isThere = await findRedis().then(
    () => true,
    () => false, // `findRedis` itself says what it tried
  )
  if (isThere) return null
  return 'Redis 6.2 or newer is missing: install redis-server or valkey-server, start Docker, or set TEST_REDIS_URL.'
}

async function checkPostgres({ env, answerMs, findPostgres }: Host): Promise<string | null> {
  const url = env.TEST_DATABASE_URL
  if (url) return await whyUnusable('TEST_DATABASE_URL', url, () => queryPostgres(url, answerMs))
  const isThere = await findPostgres().then(
    () => true,
    () => false,
  )
  if (isThere) return null
  return `PostgreSQL for ${process.platform} on ${process.arch} is missing or does not run: run npm install again without --omit=optional, or set TEST_DATABASE_URL.`
}

async function checkDisk({ freeBytes }: Host): Promise<string | null> {
  const free = await freeBytes()
  if (free >= NEEDED_BYTES) return null
  const shown = (bytes: number) => `${Math.floor(bytes / 1024 ** 2)} MiB`
  return `${tmpdir()} has ${shown(free)} of free space, and the tests need ${shown(NEEDED_BYTES)}: make room there, or set TMPDIR to another folder.`
}

async function checkPorts({ findPort }: Host): Promise<string | null> {
  return await findPort().then(
    () => null,
    (error: Error) => `The tests need free ports on 127.0.0.1: ${error.message}.`,
  )
}

async function whyUnusable(variable: string, url: string, ask: () => Promise<void>): Promise<string | null> {
  try {
    await ask()
    return null
  } catch (error) {
    const why = error instanceof Error && error.message !== '' ? error.message : String(error)
    return `${variable} names ${shownAddress(url)}, which cannot be used: ${why}.`
  }
}

async function pingRedis(url: string, answerMs: number): Promise<void> {
  const redis = new Redis(url, {
    ...{ lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null },
    ...{ connectTimeout: answerMs, commandTimeout: answerMs },
  })
  let why: Error | null = null
  redis.on('error', (error) => {
    why = error
  })
  try {
    await redis.connect()
    await redis.ping()
  } catch (error) {
    throw why ?? error // "Connection is closed." has its reason in the event before
  } finally {
    redis.disconnect()
  }
}

async function queryPostgres(url: string, answerMs: number): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
  })
  client.on('error', () => {}) // a connection that breaks fails the query too
  try {
    await client.connect()
    await client.query('select 1')
  } finally {
    await client.end().catch(() => {})
  }
}
