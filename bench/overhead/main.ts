import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { createClient } from '../../src/keys/clients.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import { createLog } from '../../src/lib/log.ts'
import { startPostgres } from '../../src/standalone/servers/postgres.ts'
import { startRedis } from '../../src/standalone/servers/redis.ts'
import { findRedisProgram } from '../../src/standalone/servers/redis-program.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres } from '../../src/store/connection/postgres.ts'

/**
 * CPU of the gateway's process per call, fully metered (key, journal, stream, roll-up in a worker of its own), beside
 * @fastify/http-proxy as it comes, in turn in one run. Linux: reads /proc.
 *
 *   node bench/overhead/main.ts [--rounds 7] [--calls 4000] [--connections 32] [--only JSON|stream]
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    calls: { type: 'string', default: '4000' },
    connections: { type: 'string', default: '32' },
    only: { type: 'string', default: '' },
  },
})
const rounds = Number(values.rounds)
const calls = Number(values.calls)
const connections = Number(values.connections)
const TICKS_PER_SECOND = 100

const folder = await mkdtemp(join(tmpdir(), 'tallygate-bench-'))
const cleanUp: (() => Promise<unknown> | unknown)[] = [() => rm(folder, { recursive: true, force: true })]
const log = createLog('silent', 'bench')

try {
  const upstream = await startNode('bench/overhead/upstream.ts', {})
  const upstreamUrl = `http://127.0.0.1:${upstream.port}`
  const bare = await startNode('bench/overhead/bare-proxy.ts', { UPSTREAM_URL: upstreamUrl })
  const gateway = await startGateway(upstreamUrl)
  const shapes = [
    {
      name: 'JSON answer, 1 KB',
      body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Tell me.' }] },
    },
    {
      name: 'stream of 20 events',
      body: {
        model: 'gpt-4o-mini',
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: 'Tell me.' }],
      },
    },
  ]
  for (const { name, body } of shapes.filter((shape) => shape.name.startsWith(values.only))) {
    const text = JSON.stringify(body)
    const perCall = name.startsWith('stream') ? Math.ceil(calls / 4) : calls
    await run(bare, text, perCall)
    await run(gateway, text, perCall)
    const results = []
    for (let round = 0; round < rounds; round += 1) {
      results.push({ bare: await run(bare, text, perCall), gateway: await run(gateway, text, perCall) })
    }
    console.log(
      `\n${name}, ${connections} connections, ${rounds} rounds of ${perCall} calls, CPU of the process per call`,
    )
    print(
      '@fastify/http-proxy, unmetered',
      results.map((result) => result.bare),
      'us',
    )
    print(
      'tallygate, metered',
      results.map((result) => result.gateway),
      'us',
    )
    print(
      'ratio',
      results.map((result) => result.gateway / result.bare),
      '',
    )
  }
} finally {
  for (const step of cleanUp.reverse()) await step()
}

interface Target {
  readonly port: number
  readonly pid: number
  readonly key: string
}

async function startNode(script: string, env: Record<string, string>): Promise<Target> {
  const child = fork(script, { env: { ...process.env, NODE_ENV: 'production', ...env } })
  cleanUp.push(() => stopChild(child))
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { port, pid: child.pid ?? 0, key: 'none' }
}

async function startGateway(upstreamUrl: string): Promise<Target> {
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
  const port = 20_000 + Math.floor(Math.random() * 20_000)
  const env = {
    ...process.env,
    PRICES_REFRESH: 'off',
    NODE_ENV: 'production',
    UPSTREAM_URL: upstreamUrl,
    UPSTREAM_PROVIDER: 'openai',
    HOST: '127.0.0.1',
    PORT: `${port}`,
    ADMIN_PORT: '0',
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    KEY_PEPPER: pepper,
    JOURNAL_DIR: join(folder, 'journal'),
    LOG_LEVEL: 'warn',
  }
  const worker = fork('workers/main.ts', { env })
  cleanUp.push(() => stopChild(worker))
  const gateway = fork('src/gateway/server.ts', {
    env,
    execArgv: process.env.GATEWAY_NODE_OPTIONS?.split(' ') ?? [],
  })
  cleanUp.push(() => stopChild(gateway))
  const until = performance.now() + 20_000
  while (!(await isReady(port))) {
    if (performance.now() > until) throw new Error('the gateway does not get ready')
    await delay(50)
  }
  return { port, pid: gateway.pid ?? 0, key }
}

async function isReady(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/readyz`).then(
    (answer) => answer.ok,
    () => false,
  )
}

/** Microseconds of CPU that the target's process spent on each of `count` calls. */
async function run(target: Target, body: string, count: number): Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${target.port}`, { connections, pipelining: 1 })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${target.key}` }
  const before = await cpuTicks(target.pid)
  let left = count
  const loop = async () => {
    while (left > 0) {
      left -= 1
      const answer = await pool.request({ path: '/v1/chat/completions', method: 'POST', headers, body })
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${await answer.body.text()}`)
      await answer.body.dump()
    }
  }
  await Promise.all(Array.from({ length: connections }, loop))
  // What a call leaves to do (syncing, shipping, freeing) is part of its cost.
  await delay(300)
  const ticks = (await cpuTicks(target.pid)) - before
  await pool.close()
  return ((ticks / TICKS_PER_SECOND) * 1e6) / count
}

async function cpuTicks(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

function print(name: string, figures: readonly number[], unit: string): void {
  const sorted = figures.toSorted((a, b) => a - b)
  const at = (share: number) =>
    (sorted[Math.round(share * (sorted.length - 1))] ?? 0).toFixed(unit === '' ? 2 : 0)
  console.log(`  ${name.padEnd(32)} ${at(0.5).padStart(6)} ${unit}  (${at(0)} to ${at(1)})`)
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), 20_000)
  await exited
  clearTimeout(force)
}

async function once(child: ChildProcess, event: 'message' | 'exit'): Promise<unknown[]> {
  return await new Promise((resolve) => child.once(event, (...values: unknown[]) => resolve(values)))
}
