// @long: starts twenty gateway processes
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../../src/store/connection/migrate.ts'
import { selectConnectionUse } from '../../../src/store/processes/processes-table.ts'
import { run } from '../../cli/command-line.ts'
import { quiet } from '../../rollup/records.ts'
import { startPrivatePostgres, type TestServer } from '../../support/servers/servers.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { type GatewayProcess, startGatewayProcess } from '../gateway-process.ts'

/** Processes of each; one more runs in this process, with a worker of up to ten connections. */
const PROCESSES = [4, 4, 4, 4, 3] as const
/** Of the stack's own pool, beside its gateway and worker. */
const STACK_CONNECTIONS = 4
const CALLS = 400
const AT_ONCE = 20
const REFUSED = /too many clients|remaining connection slots/

let postgres: TestServer
let upstream: TestUpstream
let stack: TestStack
let folder: string
let client: TestClient
const gateways: GatewayProcess[] = []
let made = 0

beforeAll(async () => {
  upstream = await startUpstream()
  postgres = await startPrivatePostgres({ durable: true }) // of 100 connections
  await migrate(postgres.url, quiet)
  stack = await startStack(upstream.url, { databaseUrl: postgres.url })
  client = await stack.addClient('many')
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-many-'))
  const starting = PROCESSES.map((count, gateway) =>
    startGatewayProcess({
      ...stack.env,
      GATEWAY_PROCESSES: `${count}`,
      JOURNAL_DIR: join(folder, `${gateway}`),
    }),
  )
  gateways.push(...(await Promise.all(starting)))
})

afterAll(async () => {
  for (const { child } of gateways) child.kill('SIGTERM')
  await Promise.all(gateways.map(({ exited }) => exited))
  await stack?.stop()
  await upstream?.close()
  await postgres?.stop()
  await rm(folder, { recursive: true, force: true })
})

const use = () => selectConnectionUse(stack.pool)
const serverLog = () => readFileSync(join(postgres.folder, 'postgres.log'), 'utf8')
const logged = (event: string) =>
  gateways.flatMap(({ log }) => log.filter((line) => line.includes(`"event":"${event}"`)))

async function ask(path: string, init: RequestInit = {}, key = client.key): Promise<number> {
  const gateway = gateways[made % gateways.length]
  // A connection each: they go to the processes in turn.
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' }
  const answer = await fetch(`${gateway?.url}${path}`, { ...init, headers })
  await answer.arrayBuffer()
  return answer.status
}

/** Calls, and beside each what else a gateway asks of Postgres. Gives how often each status answered a call. */
async function load(calls: number): Promise<Readonly<Record<number, number>>> {
  const statuses: Record<number, number> = {}
  let left = calls
  const body = '{"model":"gpt-4o-mini","messages":[]}'
  const caller = async () => {
    while (left > 0) {
      left -= 1
      made += 1
      const beside = [
        () => ask('/v1/usage?group_by=day,model&days=30'),
        () => ask('/v1/files/file-of-none'),
        () => fetch(`${gateways[made % gateways.length]?.adminUrl}/metrics`).then((answer) => answer.text()),
      ][made % 3]
      const asked = beside?.().catch(() => {})
      const status = await ask('/v1/chat/completions', { method: 'POST', body })
      await asked
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, caller))
  return statuses
}

test('twenty gateway processes under load share a Postgres of 100 connections, and none is refused one', async () => {
  await expect.poll(async () => (await use()).gateways, { interval: 1_000 }).toBeGreaterThanOrEqual(20)
  const fit = async () => {
    const { gatewaysMay, workersMay, most, reserved } = await use()
    return gatewaysMay + workersMay + STACK_CONNECTIONS <= most - reserved
  }
  // Each says what it may take with its next announcement. Those that came first took more until they knew of the last.
  await expect.poll(fit).toBe(true)
  expect(await load(CALLS)).toEqual({ 200: CALLS })
  await expect.poll(fit).toBe(true)
  expect(serverLog()).not.toMatch(REFUSED)
  expect(logged('postgres.out_of_connections')).toEqual([])
  await stack.usageOf(client, upstream.requests.length)
  expect((await run({ ...stack.env }, 'doctor')).out).toMatch(
    /note {3}connections .*-> max_connections = \d+/,
  )
})

/** Another program, which takes each connection that there is until it is stopped. */
function takeAll(url: string) {
  const taken: pg.Client[] = []
  const state = { refused: 0, goesOn: true }
  const done = (async () => {
    while (state.goesOn) {
      const other = new pg.Client({ connectionString: url })
      other.on('error', () => {})
      const isConnected = await other.connect().then(
        () => true,
        () => false,
      )
      if (isConnected) taken.push(other)
      else {
        state.refused += 1
        await delay(5)
      }
    }
  })()
  return {
    get refused() {
      return state.refused
    },
    /** Gives all of them back. */
    async stop() {
      state.goesOn = false
      await done
      await Promise.all(taken.splice(0).map((other) => other.end()))
    },
  }
}

test('calls go on where another program has the rest', async () => {
  // It takes what becomes free, too: pools close connections that are idle.
  const taking = takeAll(postgres.url)
  onTestFinished(() => taking.stop())
  await expect.poll(() => taking.refused).toBeGreaterThan(0)
  expect(await load(CALLS)).toEqual({ 200: CALLS })
  await taking.stop()
  await stack.usageOf(client, upstream.requests.length)
})

test('where another program has all, one sentence says what to do', async () => {
  // A server of its own: a start could get what pools of the first one give back.
  const full = await startPrivatePostgres()
  onTestFinished(() => full.stop())
  await migrate(full.url, quiet)
  const taking = takeAll(full.url)
  onTestFinished(() => taking.stop())
  await expect.poll(() => taking.refused).toBeGreaterThan(0)
  const { out, code } = await run({ ...stack.env, DATABASE_URL: full.url }, 'doctor')
  expect(code).toBe(1)
  expect(out).toMatch(/WRONG {2}postgres .*-> PostgreSQL has no connection left: raise max_connections/)
  // A start finds none at all, and says so where it is asked.
  const late = await startStack(upstream.url, { databaseUrl: full.url, workers: false })
  onTestFinished(() => late.stop())
  await expect
    .poll(async () => (await fetch(`${late.url}/readyz`)).json())
    .toMatchObject({
      status: 'unavailable',
      degraded: expect.arrayContaining(['keys', 'connections']),
      advice: [expect.stringContaining('raise max_connections')],
    })
  await taking.stop()
  await expect.poll(async () => (await fetch(`${late.url}/readyz`)).status).toBe(200)
})
