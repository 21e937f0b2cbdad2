import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { createClient } from '../src/keys/clients.ts'
import { createClientKey } from '../src/keys/keys.ts'
import { createLog } from '../src/lib/log.ts'
import { findFreePort } from '../src/standalone/processes/free-port.ts'
import { startPostgres } from '../src/standalone/servers/postgres.ts'
import { startRedis } from '../src/standalone/servers/redis.ts'
import { findRedisProgram } from '../src/standalone/servers/redis-program.ts'
import { migrate } from '../src/store/connection/migrate.ts'
import { openPostgres } from '../src/store/connection/postgres.ts'

/**
 * What metering adds to the CPU that the gateway's process spends on a stream of 1,000 events: the same bytes from
 * the same upstream through the same gateway, once on a path whose usage is read and once on one where nothing is
 * to be read (key, journal and record are there in both). Both in turn, in one run. Linux: reads /proc.
 *
 *   node bench/stream.ts [--rounds 5] [--streams 20] [--interval 2] [--only gemini]
 *
 * `--interval`: milliseconds between two events of a stream, all streams side by side. Models write an event in some
 * 10 to 50; at 2 each is still a read of its own. 0: as fast as they go, six streams at a time.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    streams: { type: 'string', default: '20' },
    interval: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
  },
})
const rounds = Number(values.rounds)
const streams = Number(values.streams)
const connections = values.interval === '0' ? 6 : streams
const UNMETERED_PATH = '/at-openai/v1/unmetered'

interface Shape {
  readonly name: string
  readonly format: string
  readonly path: string
  readonly body: object
}

const messages = [{ role: 'user', content: 'Tell me.' }]
const chatBody = { model: 'gpt-4o-mini', stream: true, messages }
const SHAPES: readonly Shape[] = [
  {
    name: 'chat, usage asked for',
    format: 'chat',
    path: '/at-openai/v1/chat/completions',
    body: { ...chatBody, stream_options: { include_usage: true } },
  },
  {
    name: 'chat, the gateway asks',
    format: 'chat',
    path: '/at-openai/v1/chat/completions',
    body: chatBody,
  },
  {
    name: 'messages',
    format: 'messages',
    path: '/at-anthropic/v1/messages',
    body: { model: 'claude-sonnet-4-5', stream: true, max_tokens: 4096, messages },
  },
  {
    name: 'gemini, usage in every event',
    format: 'gemini',
    path: '/at-gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'Tell me.' }] }] },
  },
  { name: 'ollama', format: 'ollama', path: '/at-ollama/api/chat', body: { model: 'llama3.2', messages } },
]

const folder = await mkdtemp(join(tmpdir(), 'tallygate-bench-'))
const cleanUp: (() => Promise<unknown> | unknown)[] = [() => rm(folder, { recursive: true, force: true })]
const log = createLog('silent', 'bench')

interface Gateway {
  readonly port: number
  readonly pid: number
  readonly key: string
}

try {
  const gateway = await startGateway(await startUpstream())
  console.log(
    `${streams} streams of 1,000 events, ${values.interval} ms between events, ${rounds} rounds: CPU of the gateway per stream, median (lowest to highest)`,
  )
  for (const shape of SHAPES.filter(({ name }) => name.startsWith(values.only))) {
    await run(gateway, shape, UNMETERED_PATH)
    await run(gateway, shape, shape.path)
    const unmetered: number[] = []
    const metered: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      // Whichever comes second finds the other's garbage: they take turns.
      if (round % 2 === 0) unmetered.push(await run(gateway, shape, UNMETERED_PATH))
      metered.push(await run(gateway, shape, shape.path))
      if (round % 2 === 1) unmetered.push(await run(gateway, shape, UNMETERED_PATH))
    }
    const ratios = metered.map((spentMs, round) => spentMs / (unmetered[round] ?? Number.NaN))
    console.log(
      `  ${shape.name.padEnd(30)} unmetered ${spread(unmetered, 1)} ms  metered ${spread(metered, 1)} ms  ratio ${spread(ratios, 3)}`,
    )
  }
} finally {
  for (const step of cleanUp.reverse()) await step()
}

async function startUpstream(): Promise<string> {
  const child = fork('bench/stream-upstream.ts')
  cleanUp.push(() => stopChild(child))
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return `http://127.0.0.1:${port}`
}

async function startGateway(upstreamUrl: string): Promise<Gateway> {
  const password = randomBytes(8).toString('hex')
  const postgres = await startPostgres({ folder: join(folder, 'postgres'), password, durable: true })
  cleanUp.push(() => postgres.stop())
  const program = await findRedisProgram({ say: console.error, ask: async () => true })
  const redis = await startRedis({ folder: join(folder, 'redis'), password, durable: true, program })
  cleanUp.push(() => redis.stop())
  await migrate(postgres.url, log)
  const pepper = randomBytes(16).toString('hex')
  const pool = openPostgres(postgres.url, {
    max: 1,
    statementTimeoutMs: 5_000,
    applicationName: 'bench',
    log,
  })
  await createClient(pool, 'bench')
  const order = { client: 'bench', name: 'bench', models: null, expiresInSeconds: null }
  const key = (await createClientKey(pool, order, pepper))?.key ?? ''
  await pool.end()
  const providers = ['openai', 'anthropic', 'gemini', 'ollama']
  const config = join(folder, 'upstreams.yaml')
  await writeFile(
    config,
    `upstreams:\n${providers.map((provider) => `  - { name: ${provider}, url: '${upstreamUrl}', provider: ${provider}, path_prefix: /at-${provider} }\n`).join('')}`,
  )
  const port = await findFreePort()
  const child = fork('src/gateway/server.ts', {
    env: {
      ...process.env,
      NODE_ENV: 'production',
      TALLYGATE_CONFIG: config,
      HOST: '127.0.0.1',
      PORT: `${port}`,
      ADMIN_PORT: '0',
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      KEY_PEPPER: pepper,
      JOURNAL_DIR: join(folder, 'journal'),
      LOG_LEVEL: 'error',
    },
    execArgv: process.env.GATEWAY_NODE_OPTIONS?.split(' ') ?? [],
  })
  cleanUp.push(() => stopChild(child))
  const until = performance.now() + 20_000
  while (!(await isReady(port))) {
    if (performance.now() > until) throw new Error('the gateway does not get ready')
    await delay(50)
  }
  return { port, pid: child.pid ?? 0, key }
}

async function isReady(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/readyz`).then(
    (answer) => answer.ok,
    () => false,
  )
}

/** Milliseconds of CPU that the gateway's process spent on each stream. */
async function run(gateway: Gateway, { format, body }: Shape, path: string): Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${gateway.port}`, { connections, pipelining: 1 })
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${gateway.key}`,
    'x-format': format,
    'x-interval-ms': values.interval,
  }
  const before = await cpuMs(gateway.pid)
  let left = streams
  const loop = async () => {
    while (left > 0) {
      left -= 1
      const answer = await pool.request({ path, method: 'POST', headers, body: JSON.stringify(body) })
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${await answer.body.text()}`)
      for await (const chunk of answer.body) if (!Buffer.isBuffer(chunk)) throw new TypeError('no bytes')
    }
  }
  await Promise.all(Array.from({ length: connections }, loop))
  // What a call leaves to do (syncing, shipping, freeing) is part of its cost.
  await delay(300)
  const spentMs = (await cpuMs(gateway.pid)) - before
  await pool.close()
  return spentMs / streams
}

/** Of all its threads, from the scheduler's own nanoseconds. */
async function cpuMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`)
  const stats = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')),
  )
  return stats.reduce((sum, stat) => sum + Number(stat.split(' ')[0]) / 1e6, 0)
}

function spread(figures: readonly number[], digits: number): string {
  const sorted = figures.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.round(share * (sorted.length - 1))] ?? 0).toFixed(digits)
  return `${at(0.5)} (${at(0)} to ${at(1)})`
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), 20_000)
  await exited
  clearTimeout(force)
}
