import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { until } from '../../src/lib/repeat.ts'
import { sendSignal } from '../../src/standalone/processes/detached-process.ts'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { type NpmStart, npmStart, paste, processesOf } from '../support/npm-start.ts'
import { busyness, patienceMs } from '../support/patience.ts'
import { createEmptyDatabase } from '../support/servers/database.ts'
import { testRedisPrefix } from '../support/servers/redis.ts'

vi.setConfig({ testTimeout: 120_000 }) // several whole starts each, on a machine that may be busy

const dataDir = await mkdtemp(join(tmpdir(), 'tallygate-test-start-'))
const [port, adminPort] = [await findFreePort(), await findFreePort()]
const env = { TALLYGATE_DATA_DIR: dataDir, PORT: String(port), ADMIN_PORT: String(adminPort), CI: '1' }

afterAll(async () => {
  for (const pid of processesOf(dataDir)) sendSignal(pid, 'SIGKILL')
  await until(() => (processesOf(dataDir).length === 0 ? true : null), { timeoutMs: patienceMs() })
  await rm(dataDir, { recursive: true, force: true })
})

/** The printed command, for the day before as well: calls of these tests may lie on both sides of midnight. */
function overMidnight(command: string | undefined): string {
  expect(command).toContain('days=1')
  return (command ?? '').replace('days=1', 'days=2')
}

async function usageOf(command: string | undefined, requests: number): Promise<Record<string, unknown>> {
  let usage: Record<string, unknown> = {}
  await until(
    async () => {
      usage = await paste(overMidnight(command))
      return usage.requests === requests ? true : null
    },
    { timeoutMs: 2_000 * busyness() },
  )
  return usage
}

async function stopped(started: NpmStart): Promise<void> {
  started.signal('SIGINT')
  await started.exited
  expect(started.output).toContain(`stopped; everything is kept in ${dataDir}`)
  expect(processesOf(dataDir)).toEqual([])
}

const priced = (calls: number) => ({
  client: 'demo',
  period_days: 2,
  requests: calls,
  total_tokens: expect.toSatisfy((tokens: number) => tokens >= 40 * calls),
  cost_usd: expect.toSatisfy((cost: number) => cost > 0),
})

let keyLine = ''
/** What a test left running for the next one: each start takes seconds of CPU. */
let running: NpmStart | null = null

/** That, or a new one. */
function runningOne(): NpmStart {
  running ??= npmStart(env)
  return running
}

test('the printed commands, pasted, make a call and show it priced within 2 s; Ctrl-C leaves no process', async () => {
  const started = npmStart(env)
  const [call, usage] = await started.screen()
  keyLine = /^demo key\s.*$/m.exec(started.output)?.[0] ?? ''
  expect(await paste(call ?? '')).toMatchObject({ choices: [{ message: { role: 'assistant' } }] })
  expect(await usageOf(usage, 1)).toMatchObject(priced(1))
  await stopped(started)
})

test('what it keeps is closed to others', async () => {
  const modes = await Promise.all(
    ['.', 'secrets.json', 'journal', 'redis', 'redis/redis.conf', 'postgres/data'].map(async (name) => {
      const { mode } = await stat(join(dataDir, name))
      return [name, mode & 0o077]
    }),
  )
  expect(modes.filter(([, others]) => others !== 0)).toEqual([])
})

test('a second start keeps the key and the usage; one beside it is refused and does no harm', async () => {
  const started = runningOne()
  const [call, usage] = await started.screen()
  expect(started.output).toContain(keyLine)
  expect(await usageOf(usage, 1)).toMatchObject(priced(1))

  const other = npmStart({ ...env, PORT: '0', ADMIN_PORT: '0' })
  expect(await other.exited).not.toBe(0)
  const { pid, baseUrl } = JSON.parse(await readFile(join(dataDir, 'running.json'), 'utf8'))
  expect(other.output).toContain(`process ${pid} has ${dataDir}, at ${baseUrl}`)

  await paste(call ?? '')
  expect(await usageOf(usage, 2)).toMatchObject(priced(2))
})

test('after kill -9 of every process in the middle of its work, the next start has all calls', async () => {
  const killed = runningOne()
  const [call] = await killed.screen()
  await Promise.all(Array.from({ length: 8 }, () => paste(call ?? '')))
  running = null
  killed.signal('SIGKILL')
  for (const pid of processesOf(dataDir)) sendSignal(pid, 'SIGKILL')
  await until(() => (processesOf(dataDir).length === 0 ? true : null), { timeoutMs: patienceMs() })

  const started = npmStart(env)
  const [, usage] = await started.screen()
  const counted = await until(async () => ((await usageOf(usage, 10)).requests === 10 ? true : null), {
    timeoutMs: patienceMs(), // the new gateway adopts the journal of the killed one first
  })
  expect(counted).toBe(true)

  const { pid } = JSON.parse(await readFile(join(dataDir, 'running.json'), 'utf8'))
  sendSignal(pid, 'SIGKILL') // npm start alone: its gateway and worker end by themselves, its servers stay
  await started.exited
  const again = runningOne()
  const [callAgain, usageAgain] = await again.screen()
  expect(again.output).toMatch(/stopped what a run before left behind: .*redis, postgres/)
  await paste(callAgain ?? '')
  expect(await usageOf(usageAgain, 11)).toMatchObject(priced(11))
})

test('a part that dies is started again, and said so', async () => {
  const started = runningOne()
  const [call, usage] = await started.screen()
  const services: { name: string; pid: number }[] = JSON.parse(
    await readFile(join(dataDir, 'processes.json'), 'utf8'),
  )
  for (const { pid } of services) sendSignal(pid, 'SIGKILL')
  for (const { name } of services) await started.said(new RegExp(`${name} ended \\(SIGKILL\\)`))
  const works = await until(
    () =>
      paste(call ?? '').then(
        ({ choices }) => choices ?? null,
        () => null,
      ),
    {
      timeoutMs: patienceMs(),
    },
  )
  expect(works).not.toBeNull()
  const counted = await until(
    () =>
      paste(overMidnight(usage)).then(
        ({ requests }) => (Number(requests) >= 12 ? true : null),
        () => null,
      ),
    { timeoutMs: patienceMs() },
  )
  expect(counted).toBe(true)
  running = null
  await stopped(started)
})

test('servers of one’s own are used, named, and left running; a kept key that they do not know is created again', async () => {
  const [database, redis] = [await createEmptyDatabase(), testRedisPrefix()]
  const started = npmStart({
    ...env,
    DATABASE_URL: database.url,
    REDIS_URL: redis.redisUrl,
    REDIS_PREFIX: redis.prefix,
  })
  const [call, usage] = await started.screen()
  expect(started.output).toMatch(/using the PostgreSQL of DATABASE_URL at 127\.0\.0\.1:\d+\/tallygate_empty_/)
  expect(started.output).toMatch(/using the Redis of REDIS_URL at 127\.0\.0\.1:\d+/)
  expect(started.output).not.toContain(new URL(database.url).password)
  expect(started.output).not.toContain(keyLine)
  await paste(call ?? '')
  expect(await usageOf(usage, 1)).toMatchObject(priced(1))
  await stopped(started)
  await redis.drop()
  await database.drop()
})

test('a port that is taken is named, with the variable that changes it, before anything is started', async () => {
  const occupant = createServer().listen(port, '127.0.0.1')
  const refused = npmStart(env)
  expect(await refused.exited).not.toBe(0)
  expect(refused.output).toContain(`port ${port} on 127.0.0.1 is taken by another program: set PORT`)
  expect(processesOf(dataDir)).toEqual([])
  occupant.close()
})

test('all problems of the configuration are reported at once', async () => {
  const refused = npmStart({
    ...env,
    PORT: 'eighty',
    ON_CLIENT_ABORT: 'perhaps',
    TALLYGATE_CONFIG: '/nowhere.yaml',
  })
  expect(await refused.exited).not.toBe(0)
  for (const name of ['PORT', 'ON_CLIENT_ABORT', 'TALLYGATE_CONFIG']) expect(refused.output).toContain(name)
})
