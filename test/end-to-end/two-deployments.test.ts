// @long: starts two deployments for each of its tests
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { afterEach, expect, test, vi } from 'vitest'
import { databaseName, streamName, workersName } from '../../src/domain/redis/redis-names.ts'
import { openRedis } from '../../src/store/connection/redis.ts'
import { createTestDatabase } from '../support/servers/database.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'

const SOON = { interval: 50 }
const quiet = { info() {}, warn() {}, error() {} }

let ending: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const end of ending.reverse()) await end()
  ending = []
})

function finally_<T extends { stop(): Promise<unknown> }>(started: T): T {
  ending.push(() => started.stop())
  return started
}

/** A database that was made at another moment than all others here, which are copies of one. */
async function otherDatabase(): Promise<string> {
  const database = await createTestDatabase()
  ending.push(() => database.drop())
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query(`update tallygate.migrations set run_on = run_on - interval '1 day'`)
  await client.end()
  return database.url
}

async function upstreamForAll(): Promise<TestUpstream> {
  const upstream = await startUpstream()
  ending.push(() => upstream.close())
  return upstream
}

async function chat(stack: TestStack, client: TestClient, times: number): Promise<void> {
  for (let call = 0; call < times; call++) {
    const answer = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [] }),
    })
    await answer.text()
  }
}

test('two deployments on one Redis and one prefix never count each other’s calls, and none is lost when one moves away', async () => {
  const upstream = await upstreamForAll()
  const first = finally_(await startStack(upstream.url))
  const ours = await first.addClient('ours')
  await chat(first, ours, 5)
  await first.usageOf(ours, 5)

  const databaseUrl = await otherDatabase()
  const journalDir = await mkdtemp(join(tmpdir(), 'tallygate-test-journal-'))
  ending.push(() => rm(journalDir, { recursive: true, force: true }))
  const second = finally_(
    await startStack(upstream.url, {
      databaseUrl,
      env: { REDIS_PREFIX: first.redisPrefix, JOURNAL_DIR: journalDir },
    }),
  )
  const theirs = await second.addClient('theirs')
  await chat(second, theirs, 7)
  await chat(first, ours, 5)
  await first.usageOf(ours, 10)
  const inFirst = await first.pool.query('select 1 from tallygate.producers where mark = 7')
  expect(inFirst.rowCount).toBe(0)
  expect((await second.usage(theirs)).requests).toBe(0)

  // Not even on its stream, where they would lie in the way of its workers: its journal has them.
  const redis = openRedis(first.env.REDIS_URL ?? '', {
    name: 'test',
    whenAway: 'wait',
    silenceMs: 5_000,
    log: quiet,
  })
  ending.push(async () => redis.disconnect())
  await vi.waitFor(async () => expect(await redis.xlen(streamName(first.redisPrefix, 0))).toBe(0), SOON)
  expect(await (await fetch(`${second.url}/readyz`)).json()).toEqual({ status: 'ready', degraded: ['redis'] })

  // The sentence tells it to take another prefix: its journal is bound to the stream of the first one.
  await second.stop()
  ending.splice(ending.length - 2, 1)
  const moved = finally_(await startStack(upstream.url, { databaseUrl, env: { JOURNAL_DIR: journalDir } }))
  await moved.usageOf(theirs, 7)
  await chat(moved, theirs, 2)
  await moved.usageOf(theirs, 9)
  await chat(first, ours, 1)
  await first.usageOf(ours, 11)
})

test('a worker that is refused is dealt no shard: those of the other deployment are never without a reader', async () => {
  const upstream = await upstreamForAll()
  const first = finally_(await startStack(upstream.url))
  const client = await first.addClient('ours')
  await chat(first, client, 1)
  await first.usageOf(client, 1)
  const redis = openRedis(first.env.REDIS_URL ?? '', {
    name: 'test',
    whenAway: 'wait',
    silenceMs: 5_000,
    log: quiet,
  })
  ending.push(async () => redis.disconnect())
  finally_(
    await startStack(upstream.url, {
      databaseUrl: await otherDatabase(),
      env: { REDIS_PREFIX: first.redisPrefix },
    }),
  )
  for (let second = 0; second < 3; second += 0.1) {
    expect(await redis.zcard(workersName(first.redisPrefix))).toBe(1)
    await delay(100)
  }
})

test('the keys of a database that is gone are deleted, and the one in its place is counted, without a call lost', async () => {
  const upstream = await upstreamForAll()
  const first = finally_(await startStack(upstream.url))
  const redis = openRedis(first.env.REDIS_URL ?? '', {
    name: 'test',
    whenAway: 'wait',
    silenceMs: 5_000,
    log: quiet,
  })
  ending.push(async () => redis.disconnect())
  const key = databaseName(first.redisPrefix)
  await vi.waitFor(async () => expect(await redis.get(key)).not.toBeNull(), SOON)

  // Redis loses everything: the prefix stays with its database.
  const database = await redis.get(key)
  await redis.del(key)
  await vi.waitFor(async () => expect(await redis.get(key)).toBe(database), SOON)

  await first.stop()
  ending.splice(ending.length - 2, 1)
  await redis.set(key, database ?? '') // The end of a stack deletes its keys; that of a deployment does not.
  const second = finally_(
    await startStack(upstream.url, {
      databaseUrl: await otherDatabase(),
      env: { REDIS_PREFIX: first.redisPrefix },
    }),
  )
  const theirs = await second.addClient('theirs')
  await chat(second, theirs, 3)
  const stream = streamName(first.redisPrefix, 0)
  await delay(3_000)
  expect(await redis.xlen(stream)).toBe(0)
  expect((await second.usage(theirs)).requests).toBe(0)
  await redis.del(key, stream)
  await vi.waitFor(async () => expect((await second.usage(theirs)).requests).toBe(3), {
    interval: 200,
  })
})
