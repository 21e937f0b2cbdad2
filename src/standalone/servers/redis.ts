import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { until } from '../../lib/repeat.ts'
import { type DetachedProcess, startDetached, stopDetached } from '../processes/detached-process.ts'
import { asPrivateServer, PortTaken, type PrivateServer, startOnFreePort } from './private-server.ts'
import type { RedisProgram } from './redis-program.ts'

/** The options of a private Redis. */
export interface RedisOptions {
  /** Folder of its own, made if missing: configuration, append-only files, log. */
  readonly folder: string
  readonly password: string
  /** false only for tests: nothing is written to disk. */
  readonly durable: boolean
  /** Loopback port; absent: a free one. */
  readonly port?: number
  readonly program: RedisProgram
}

const START_TIMEOUT_MS = 60_000

/**
 * Starts Redis (or Valkey) with an append-only file synced every second and `noeviction`, as BullMQ wants it.
 *
 * @throws Error with what the server said, when it does not come up
 */
export async function startRedis(options: RedisOptions): Promise<PrivateServer> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 })
  return await startOnFreePort(options.port, async (port) => {
    const configFile = join(options.folder, 'redis.conf')
    writeFileSync(configFile, options.program.configure(configLines(options), port), { mode: 0o600 })
    const logFile = join(options.folder, 'redis.log')
    const command = options.program.command(configFile, port)
    const server = await startDetached(command, { cwd: options.folder, logFile })
    await waitUntilReady(server, port, options.password, logFile)
    const url = `redis://:${options.password}@127.0.0.1:${port}`
    return asPrivateServer(server, { url, port }, 'SIGTERM') // SIGTERM: flush the append-only file, then end
  })
}

function configLines({ password, durable }: RedisOptions): string[] {
  return [
    `requirepass ${password}`,
    'daemonize no',
    'databases 16',
    'maxmemory-policy noeviction',
    'save ""',
    ...(durable ? ['appendonly yes', 'appendfsync everysec'] : ['appendonly no']),
  ]
}

async function waitUntilReady(
  server: DetachedProcess,
  port: number,
  password: string,
  logFile: string,
): Promise<void> {
  const answer = await until(
    async () => {
      if (!server.running) return 'ended'
      return (await answersPing(port, password)) ? 'ready' : null
    },
    { timeoutMs: START_TIMEOUT_MS },
  )
  if (answer === 'ready') return
  const words = server.lastWords(12)
  if (answer === 'ended' && /address already in use|port is already allocated/i.test(words))
    throw new PortTaken(words)
  await stopDetached(server, [])
  throw new Error(`Redis did not start, its log is ${logFile}:\n${words}`)
}

/** Speaks RESP directly: a client library would retry and log where "not yet" is the usual answer. */
async function answersPing(port: number, password: string): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.setTimeout(1_000)
  return await new Promise((resolve) => {
    let answer = ''
    const finish = (ready: boolean) => {
      socket.destroy()
      resolve(ready)
    }
    socket.once('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`))
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      if (answer.includes('+PONG')) finish(true)
      else if (answer.split('\r\n').length > 2) finish(false) // -LOADING, or not ours
    })
    socket.once('error', () => finish(false))
    socket.once('timeout', () => finish(false))
    socket.once('close', () => finish(false))
  })
}
