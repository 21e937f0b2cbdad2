import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendSignal } from '../../../src/standalone/processes/detached-process.ts'
import { startPostgres } from '../../../src/standalone/servers/postgres.ts'
import type { PrivateServer } from '../../../src/standalone/servers/private-server.ts'
import { startRedis } from '../../../src/standalone/servers/redis.ts'
import { findRedisProgram } from '../../../src/standalone/servers/redis-program.ts'
import { type StopWithMe, stopWithMe } from '../stop-with-me.ts'
import { moveClock } from './database-clock.ts'

/** A server that a test may mistreat. It dies with the process that started it, and its data with it. */
export interface TestServer {
  /** Stays the same over `start` after `kill`. */
  readonly url: string
  readonly port: number
  /** Its data and log; to be touched only between `kill` and `start`. */
  readonly folder: string
  /** The process of the run under way. */
  readonly pid: number
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>
  /** Starts it again on the same port and data, after `kill`. */
  start(): Promise<void>
  /** SIGSTOP to it and its children: it accepts connections, by the kernel, and never answers. */
  freeze(): void
  thaw(): void
  /** Stops it for good and deletes its data. */
  stop(): Promise<void>
}

export interface PrivateServerOptions {
  /** PostgreSQL with fsync, as `npm start` runs it; Redis with an append-only file, so that it survives `kill`. */
  readonly durable?: boolean
  /** Loopback port; absent: a free one. */
  readonly port?: number
  /** Of PostgreSQL, whose data stay there; absent: they are deleted. */
  readonly kept?: { readonly folder: string; readonly password: string }
}

export async function startPrivatePostgres(options: PrivateServerOptions = {}): Promise<TestServer> {
  const { durable = false, kept } = options
  const folder = kept?.folder ?? (await mkdtemp(join(tmpdir(), 'tallygate-test-postgres-')))
  const password = kept?.password ?? randomBytes(12).toString('hex')
  const end = stopWithMe(kept === undefined ? folder : null)
  const server = await asTestServer({ folder, wanted: options.port, end }, (port) =>
    startPostgres({ folder, password, durable, ...(port === undefined ? {} : { port }) }),
  )
  await moveClock(server.url)
  return server
}

export async function startPrivateRedis(options: PrivateServerOptions = {}): Promise<TestServer> {
  const { durable = false } = options
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-redis-'))
  const password = randomBytes(12).toString('hex')
  const program = await findRedisProgram({
    say: (line) => console.error(line),
    ask: async () => true, // tests install what they need
  })
  return await asTestServer({ folder, wanted: options.port, end: stopWithMe(folder) }, (port) =>
    startRedis({ folder, password, durable, program, ...(port === undefined ? {} : { port }) }),
  )
}

interface Place {
  readonly folder: string
  readonly wanted: number | undefined
  readonly end: StopWithMe
}

async function asTestServer(
  { folder, wanted, end }: Place,
  startOn: (port: number | undefined) => Promise<PrivateServer>,
): Promise<TestServer> {
  let server = await startOn(wanted)
  end.add(server.pid)
  const { url, port } = server
  return {
    url,
    port,
    folder,
    get pid() {
      return server.pid
    },
    async kill() {
      for (const pid of [server.pid, ...childrenOf(server.pid)]) sendSignal(pid, 'SIGKILL')
      await server.ended
    },
    async start() {
      server = await startOn(port)
      end.add(server.pid)
    },
    freeze() {
      for (const pid of [server.pid, ...childrenOf(server.pid)]) sendSignal(pid, 'SIGSTOP')
    },
    thaw() {
      for (const pid of [server.pid, ...childrenOf(server.pid)]) sendSignal(pid, 'SIGCONT')
    },
    stop: () => end.now(),
  }
}

/** The processes that this one started, by /proc; none where there is no /proc. */
function childrenOf(parent: number): number[] {
  const processes = readdirSync('/proc').map(Number)
  return processes.filter((pid) => Number.isInteger(pid) && parentOf(pid) === parent)
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) // after the name: state, then parent
  } catch {
    return null // gone in between
  }
}
