import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { createClient } from '../../../src/keys/clients.ts'
import { createClientKey } from '../../../src/keys/keys.ts'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import type { Postgres } from '../../../src/store/connection/postgres.ts'
import { gatewayProcess, type TestProcess, workerProcess } from '../../support/processes.ts'
import { createTestDatabase, openTestPool } from '../../support/servers/database.ts'
import { startUpstream } from '../../support/upstream.ts'

/** A gateway and a worker process on a database of their own and the Redis of a test. Its clients call in turn. */
export interface Deployment {
  readonly url: string
  readonly pool: Postgres
  readonly gateway: TestProcess
  readonly worker: TestProcess
  readonly env: Readonly<Record<string, string>>
  readonly pepper: string
  /** What a call of its client sends. */
  readonly body: object
  /** Calls, `atOnce` of them at a time, until `work` is done and for `afterMs` more. */
  loadWhile(work: () => Promise<void>, afterMs?: number): Promise<void>
  /** Makes this many calls, one after the other. */
  call(count: number): Promise<void>
  /** How many calls got a whole answer so far. */
  readonly answered: number
  /** Waits until every call that was answered is counted, and holds that each is counted once. */
  expectExact(timeoutMs?: number): Promise<void>
  stop(): Promise<void>
}

export const PREFIX = 'tallygate:'
const AT_ONCE = 8
const BODY = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }

export async function startDeployment(
  redisUrl: string,
  more: Readonly<Record<string, string>> = {},
  clients = 1,
): Promise<Deployment> {
  const [upstream, database] = await Promise.all([startUpstream(), createTestDatabase()])
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-redis-deployment-'))
  const pepper = randomBytes(16).toString('hex')
  const pool = openTestPool(database.url)
  const keys: string[] = []
  for (let number = 0; number < clients; number += 1) {
    const client = number === 0 ? 'north' : `north ${number}`
    await createClient(pool, client)
    const order = { client, name: 'default', models: null, expiresInSeconds: null }
    keys.push((await createClientKey(pool, order, pepper))?.key ?? '')
  }
  const env = {
    UPSTREAM_URL: upstream.url,
    UPSTREAM_PROVIDER: 'openai',
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: PREFIX,
    KEY_PEPPER: pepper,
    JOURNAL_DIR: join(folder, 'journal'),
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'fatal',
    ...more,
  }
  const port = await findFreePort()
  const gateway = gatewayProcess('gateway', port, env)
  const worker = workerProcess('worker', env)
  try {
    await Promise.all([gateway.start(), worker.start()])
  } catch (error) {
    await Promise.all([gateway.kill(), worker.kill()])
    throw error
  }
  const ids: string[] = []
  let made = 0

  async function callOnce(): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[made++ % keys.length]}`, 'content-type': 'application/json' },
      body: JSON.stringify(BODY),
    })
    await answer.text()
    expect(answer.status).toBe(200)
    ids.push(answer.headers.get('x-tallygate-call-id') ?? '')
  }

  async function counted(): Promise<{ requests: number; calls: number; tokens: number }> {
    const { rows } = await pool.query(
      `select (select coalesce(sum(requests), 0)::int from tallygate.daily_usage) as requests,
         (select coalesce(sum(input_tokens), 0)::int from tallygate.daily_usage) as tokens,
         (select count(distinct call_id)::int from tallygate.calls where call_id = any($1)) as calls`,
      [ids],
    )
    return rows[0]
  }

  return {
    url: `http://127.0.0.1:${port}`,
    pool,
    gateway,
    worker,
    env,
    pepper,
    body: BODY,
    async loadWhile(work, afterMs = 2_000) {
      let over = false
      const lane = async () => {
        while (!over) {
          await callOnce()
          await delay(10)
        }
      }
      const lanes = Promise.all(Array.from({ length: AT_ONCE }, lane))
      try {
        await Promise.race([work().then(() => delay(afterMs)), lanes])
      } finally {
        over = true
        await lanes
      }
    },
    async call(count) {
      for (let index = 0; index < count; index += 1) await callOnce()
    },
    get answered() {
      return ids.length
    },
    async expectExact(timeoutMs = 30_000) {
      const wanted = { requests: ids.length, calls: ids.length, tokens: ids.length * 11 }
      await expect.poll(counted, { timeout: timeoutMs, interval: 250 }).toEqual(wanted)
      // What was sent twice would arrive late.
      await delay(3_000)
      expect(await counted()).toEqual(wanted)
    },
    async stop() {
      await Promise.all([gateway.kill(), worker.kill()])
      await pool.end()
      await Promise.all([upstream.close(), database.drop(), rm(folder, { recursive: true, force: true })])
    },
  }
}
