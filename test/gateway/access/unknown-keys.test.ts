// @long: bursts of unknown keys
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKey } from '../../../src/domain/api-key.ts'
import { heldMemory } from '../../support/memory.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { type HeardGateway, startHeardGateway } from '../support/heard-process.ts'

const BURST_CALLS = 8_000
const AT_ONCE = 300
const KNOWN_CALLS = 40

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let folder: string
let gateway: HeardGateway
const unknownClients = new Agent({ connections: AT_ONCE })
const ours = new Agent({ connections: 1 })

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  client = await stack.addClient('known')
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-unknown-'))
  gateway = await startHeardGateway({ ...stack.env, JOURNAL_DIR: folder, LOG_LEVEL: 'info' })
})

afterAll(async () => {
  await Promise.all([unknownClients.close(), ours.close()])
  await gateway?.end('SIGTERM')
  await stack?.stop()
  await upstream?.close()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

async function call(agent: Agent, key: string, origin = gateway.url): Promise<number> {
  const { statusCode, body } = await agent.request({
    origin,
    path: '/v1/anything',
    method: 'GET',
    headers: { authorization: `Bearer ${key}` },
  })
  await body.dump()
  return statusCode
}

/** How many unknown keys were answered so far. */
let answered = 0

/** Of some calls of a client, one after the other: how many unknown keys were answered during each, sorted. */
async function knownCalls(): Promise<readonly number[]> {
  const overtakers: number[] = []
  for (let n = 0; n < KNOWN_CALLS; n += 1) {
    const before = answered
    expect(await call(ours, client.key)).toBe(200)
    overtakers.push(answered - before)
  }
  return overtakers.sort((a, b) => a - b)
}

/** Transactions of everybody in this test's database so far. */
async function transactions(): Promise<number> {
  const { rows } = await stack.pool.query<{ count: string }>(
    `select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()`,
  )
  return Number(rows[0]?.count)
}

function medianOf(sorted: readonly number[]): number {
  return sorted[sorted.length >> 1] ?? 0
}

interface Burst {
  readonly seconds: number
  readonly statuses: ReadonlySet<number>
}

/** Calls with keys of the right form that belong to no client, each another, as fast as they are answered. */
async function burst(calls: number, origin = gateway.url): Promise<Burst> {
  const keys = Array.from({ length: calls }, createKey)
  const statuses = new Set<number>()
  const startedAt = performance.now()
  const send = async () => {
    for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
      statuses.add(await call(unknownClients, key, origin))
      answered += 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, send))
  return { seconds: (performance.now() - startedAt) / 1_000, statuses }
}

test('a burst of unknown keys is answered with 401, asks Postgres little, and slows no other client', async () => {
  await burst(AT_ONCE * 5)
  const before = await transactions()
  const [{ seconds, statuses }, beside] = await Promise.all([burst(BURST_CALLS), knownCalls()])
  const after = await transactions()
  expect([...statuses]).toEqual([401])
  // Twenty looks a second, however many ask, and what gateways and workers ask by themselves. PostgreSQL's processes
  // report once a second: some of what is reported was done in the second before.
  expect(after - before).toBeLessThan(40 * (seconds + 1) + 40)
  // It takes its turn: no more than those that were there with it go before it, at its two ways through the gateway.
  expect(medianOf(beside)).toBeLessThan(3 * AT_ONCE)
})

test('a burst of unknown keys leaves nothing behind in memory', async () => {
  await burst(5_000, stack.url)
  const before = heldMemory().heapUsed
  await burst(20_000, stack.url)
  // Kept, each call would be some hundred bytes of key and places in maps.
  expect(heldMemory().heapUsed - before).toBeLessThan(3_000_000)
})
