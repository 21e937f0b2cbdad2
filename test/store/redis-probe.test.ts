import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { SILENT_LOG } from '../../src/lib/logger.ts'
import { openRedis, untilReady } from '../../src/store/connection/redis.ts'
import { readRedisState } from '../../src/store/connection/redis-state.ts'
import { probeRedis } from '../../src/store/redis-probe/redis-probe.ts'
import { patienceMs } from '../support/patience.ts'
import { REDIS_COMMANDS } from '../support/servers/redis-rights.ts'
import { startPrivateRedis, type TestServer } from '../support/servers/servers.ts'

const PREFIX = 'tallygate:'
const LEAST = ['resetkeys', `~${PREFIX}*`, 'resetchannels', `&${PREFIX}*`, '-@all']

let server: TestServer
let admin: Redis

beforeAll(async () => {
  server = await startPrivateRedis()
  admin = new Redis(server.url)
})
afterAll(async () => {
  admin.disconnect()
  await server.stop()
})
afterEach(async () => {
  await admin.call('REPLICAOF', 'NO', 'ONE')
  await admin.config('SET', 'maxmemory', '0')
})

async function urlOfUser(...rules: string[]): Promise<string> {
  const password = `@:/${randomBytes(4).toString('hex')}`
  await admin.call('ACL', 'SETUSER', 'tallygate', 'reset', 'on', `>${password}`, ...rules)
  const url = new URL(server.url)
  return `redis://tallygate:${encodeURIComponent(password)}@${url.host}`
}

const probe = async (url: string) => (await probeRedis(url, PREFIX, 3_000))?.what ?? null

test('nothing is found at a server that does all, and no key of the probe stays', async () => {
  expect(await probe(server.url)).toBeNull()
  expect(await admin.keys('*')).toEqual([])
})

test('a user with the documented rights and no other is enough', async () => {
  const url = await urlOfUser(...LEAST, ...REDIS_COMMANDS.map((command) => `+${command}`))
  expect(await probe(url)).toBeNull()
  const redis = openRedis(url, { name: 'test', whenAway: 'fail', silenceMs: 3_000, log: SILENT_LOG })
  try {
    await untilReady(redis, patienceMs())
    // Not INFO: what it would say of the server's settings is not known then.
    expect(await readRedisState(redis)).toMatchObject({
      product: 'Redis',
      evictionPolicy: null,
      appendOnly: null,
    })
    expect((await readRedisState(redis)).version).toMatch(/^\d+\.\d+/)
  } finally {
    redis.disconnect()
  }
})

test('each right that is missing is named', async () => {
  const tried = REDIS_COMMANDS.filter((command) => !/^(?:auth|hello|select|client|subscribe)/.test(command))
  for (const missing of tried) {
    const rights = REDIS_COMMANDS.filter((command) => command !== missing).map((command) => `+${command}`)
    const found = await probe(await urlOfUser(...LEAST, ...rights))
    expect(found).toContain(`may not use ${missing.toUpperCase()} on keys`)
  }
  const other = REDIS_COMMANDS.map((command) => `+${command}`)
  expect(await probe(await urlOfUser('~other:*', `&${PREFIX}*`, ...other))).toContain('XADD')
  expect(await probe(await urlOfUser(`~${PREFIX}*`, 'resetchannels', ...other))).toContain('PUBLISH')
})

test('a replica, a server without memory and a wrong password are said in a sentence', async () => {
  expect(await probe(`redis://:wrong@127.0.0.1:${server.port}`)).toBe(
    'has a user or password that Redis refuses',
  )
  await admin.config('SET', 'maxmemory', '1')
  expect(await probe(server.url)).toBe('names a server whose memory is full')
  await admin.config('SET', 'maxmemory', '0')
  await admin.call('REPLICAOF', '127.0.0.1', '1')
  expect(await probe(server.url)).toBe('names a replica, which takes no writes')
})

test('a server outside a cluster, and a server named as a Sentinel, are said in a sentence', async () => {
  const { host, password } = new URL(server.url)
  expect(await probe(`redis-cluster://:${password}@${host}`)).toBe(
    'names a cluster, and the server belongs to none',
  )
  expect(await probe(`redis-sentinel://:${password}@${host}?sentinel_password=${password}#main`)).toBe(
    'names Sentinels, and a server that is none answers',
  )
})
