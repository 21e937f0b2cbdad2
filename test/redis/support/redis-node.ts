import { spawnSync } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis, type RedisOptions } from 'ioredis'
import {
  type Command,
  sendSignal,
  startDetached,
} from '../../../src/standalone/processes/detached-process.ts'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { findRedisProgram } from '../../../src/standalone/servers/redis-program.ts'
import { stopWithMe } from '../../../src/standalone/stand/stop-with-me.ts'

/** One server of any kind, with a configuration of its own. */
export interface RedisNode {
  readonly port: number
  readonly folder: string
  readonly program: string
  /** For the test itself: the default user. */
  ask(...command: (string | number)[]): Promise<unknown>
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>
  /** Starts it again after `kill`, with the configuration as the server left it. */
  start(): Promise<void>
  /** Stops it for good and deletes its data. */
  stop(): Promise<void>
}

export interface NodeOptions {
  readonly sentinel?: boolean
  /** By default the one that `npm start` runs. */
  readonly program?: string
  readonly lines: (port: number) => readonly string[]
  /** Where the test itself connects, if not to the plain port. */
  readonly connectTo?: (port: number) => RedisOptions
}

/** The first of these programs that is installed. */
export function findServer(...names: string[]): string | null {
  return names.find((name) => spawnSync(name, ['--version']).status === 0) ?? null
}

export async function startNode(options: NodeOptions): Promise<RedisNode> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-redis-node-'))
  const port = await findFreePort()
  const file = join(folder, 'redis.conf')
  const common = [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, 'daemonize no', 'protected-mode no']
  await writeFile(file, [...common, ...options.lines(port), ''].join('\n'))
  // As npm start has it: installed, or unpacked beside the project.
  const command: Command =
    options.program === undefined
      ? (await findRedisProgram({ say: () => {}, ask: async () => false })).command(file, port)
      : { file: options.program, args: [file] }
  const program = command.file
  const end = stopWithMe(folder)
  const run = async () => {
    const args = options.sentinel === true ? [...command.args, '--sentinel'] : command.args
    const started = await startDetached({ ...command, args }, { cwd: folder, logFile: join(folder, 'log') })
    end.add(started.pid)
    return started
  }
  let server = await run()
  const node: RedisNode = {
    port,
    folder,
    program,
    async ask(...command) {
      const settings: RedisOptions & { replyMapping: 'legacy' } = {
        ...(options.connectTo?.(port) ?? { host: '127.0.0.1', port }),
        enableReadyCheck: false,
        maxRetriesPerRequest: 0,
        retryStrategy: () => null,
        replyMapping: 'legacy',
      }
      const redis = new Redis(settings)
      redis.on('error', () => {})
      try {
        return await redis.call(...(command as [string, ...string[]]))
      } finally {
        redis.disconnect()
      }
    },
    async kill() {
      sendSignal(server.pid, 'SIGKILL')
      await server.ended
    },
    async start() {
      server = await run()
      await answers(node)
    },
    stop: () => end.now(),
  }
  await answers(node)
  return node
}

async function answers(node: RedisNode): Promise<void> {
  await waitUntil(`port ${node.port} answers`, async () => (await node.ask('PING')) === 'PONG')
}

/** Waits until `check` is true; one that rejects is not yet. Works in hooks, unlike `expect.poll`. */
export async function waitUntil(
  what: string,
  check: () => Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const endMs = performance.now() + timeoutMs
  while (!(await check().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`waited in vain: ${what}`)
    await delay(50)
  }
}

/** Of a server of tests: nothing on disk. */
export const NOT_DURABLE = ['save ""', 'appendonly no', 'maxmemory-policy noeviction']
