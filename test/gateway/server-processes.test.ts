import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { restartDelayMs } from '../../src/gateway/server-processes.ts'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { childrenOf } from '../../src/standalone/stand/child-processes.ts'
import { clockEnvironment } from '../clock/clock.ts'
import { OFFLINE } from '../support/offline.ts'
import { type TestProcess, testProcess, untilReady, workerProcess } from '../support/processes.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { chatAnswer, startUpstream, type TestUpstream } from '../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let worker: TestProcess
/** A group of its own, which a signal can be sent to as a terminal does; each test goes on with what those before left. */
let group: ChildProcess
let output = ''
let folder: string
let port: number
let adminPort: number

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url, { workers: false })
  client = await stack.addClient('many')
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-processes-'))
  port = await findFreePort()
  adminPort = await findFreePort()
  worker = workerProcess('worker', stack.env)
  startGroup()
  await worker.start()
})

afterAll(async () => {
  group?.kill('SIGKILL')
  await worker?.stop()
  await stack?.stop()
  await upstream?.close()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

function startGroup(): void {
  group = fork('src/gateway/server.ts', {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    execArgv: ['--import', new URL('./support/failing-forks.ts', import.meta.url).href],
    env: { PATH: process.env.PATH, ...clockEnvironment(), ...environment(), LOG_LEVEL: 'error' },
  })
  group.stdout?.on('data', (chunk) => {
    output += chunk
  })
}

function environment() {
  return {
    ...stack.env,
    ...OFFLINE,
    PORT: `${port}`,
    ADMIN_PORT: `${adminPort}`,
    GATEWAY_PROCESSES: '2',
    JOURNAL_DIR: folder,
  }
}

const running = () => childrenOf(group.pid ?? 0)

/** Whether a new connection is answered by a process that takes calls. */
const isReady = () =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )

test('SIGHUP while processes start ends none of them', async () => {
  // The first of them has opened its journal, and does not listen yet.
  await expect.poll(() => readdir(folder), { interval: 5 }).not.toEqual([])
  const started = running()
  group.kill('SIGHUP')
  await untilReady(port)
  await expect.poll(running).toHaveLength(2)
  expect(running()).toEqual(expect.arrayContaining(started))
  expect(group.exitCode).toBeNull()
})

test('several processes share the port, every call is counted once, and metrics are the sum of all', async () => {
  for (let call = 0; call < 40; call += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${client.key}`,
        'content-type': 'application/json',
        // A connection of its own each, so that both processes get some.
        connection: 'close',
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [] }),
    })
    expect(answer.status).toBe(200)
    await answer.text()
  }
  expect((await stack.usageOf(client, 40)).input_tokens).toBe(440)
  expect(await countedCalls()).toEqual({ status: 200, calls: 40 })
})

/** What `/metrics` says of the calls of all processes; status 0: a frozen process took the connection. */
async function countedCalls(): Promise<{ readonly status: number; readonly calls: number }> {
  const answer = await fetch(`http://127.0.0.1:${adminPort}/metrics`, {
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(8_000),
  }).catch(() => null)
  if (answer === null) return { status: 0, calls: 0 }
  const counts = [...(await answer.text()).matchAll(/^tallygate_calls_total\{[^}]*\} (\d+)/gm)]
  return { status: answer.status, calls: counts.reduce((sum, [, count]) => sum + Number(count), 0) }
}

test('metrics never fall: with a frozen process there are none, and those of one that died stay', async () => {
  expect(await countedCalls()).toEqual({ status: 200, calls: 40 })
  const [frozen = 0] = running()
  process.kill(frozen, 'SIGSTOP')
  try {
    await expect.poll(countedCalls).toMatchObject({ status: 503 })
  } finally {
    process.kill(frozen, 'SIGCONT')
  }
  await expect.poll(countedCalls).toEqual({ status: 200, calls: 40 })
  process.kill(frozen, 'SIGKILL')
  await expect.poll(running).not.toContain(frozen)
  await expect.poll(countedCalls).toEqual({ status: 200, calls: 40 })
  await expect.poll(running).toHaveLength(2)
  expect(await countedCalls()).toEqual({ status: 200, calls: 40 })
})

test('a process that ran for a while is replaced at once, one that did not a little later', () => {
  expect(restartDelayMs(60_000)).toBe(0)
  expect(restartDelayMs(100)).toBeGreaterThan(0)
})

test('processes that cannot start are not started for ever', async () => {
  const env = { ...environment(), ADMIN_PORT: '0' }
  const second = testProcess('second', 'src/gateway/server.ts', env, () => new Promise(() => {}))
  await expect(second.start()).rejects.toThrow('ended: 1')
})

test('where the system starts no other process the rest go on, and one starts as soon as it does', async () => {
  group.kill('SIGALRM')
  process.kill(running()[0] ?? 0, 'SIGKILL')
  await expect.poll(() => output).toContain('gateway.process_not_started')
  expect(running()).toHaveLength(1)
  await expect.poll(isReady).toBe(true)
  group.kill('SIGALRM')
  await expect.poll(running).toHaveLength(2)
  await expect.poll(isReady).toBe(true)
})

test('SIGTERM to all of them, as systemd and terminals send it, lets running streams end', async () => {
  const finished = Promise.withResolvers<void>()
  try {
    upstream.answer(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[]}\n\n')
      await finished.promise
      response.end('data: [DONE]\n\n')
    })
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', stream: true, messages: [] }),
    })
    const ended = once(group, 'exit')
    process.kill(-(group.pid ?? 0), 'SIGTERM')
    await expect.poll(isReady).toBe(false)
    finished.resolve()
    expect(await answer.text()).toContain('[DONE]')
    expect(await ended).toEqual([0, null])
  } finally {
    finished.resolve()
    upstream.answer(chatAnswer)
  }
})
