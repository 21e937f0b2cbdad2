import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendSignal } from '../processes/detached-process.ts'
import { startPostgres } from '../servers/postgres.ts'
import type { PrivateServer } from '../servers/private-server.ts'
import { startRedis } from '../servers/redis.ts'
import { type Dialogue, findRedisProgram } from '../servers/redis-program.ts'
import { childrenOf } from './child-processes.ts'
import { type StopWithMe, stopWithMe } from './stop-with-me.ts'

/** A server that may be mistreated. It dies with the process that started it, and its data with it. */
export interface MortalServer {
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

export interface MortalServerOptions {
  /** PostgreSQL with fsync, as `npm start` runs it; Redis with an append-only file, so that it survives `kill`. */
  readonly durable?: boolean
  /** Loopback port; absent: a free one. */
  readonly port?: number
  /** PostgreSQL's data stay there; absent: they are deleted. */
  readonly kept?: { readonly folder: string; readonly password: string }
  /** The user, while programs are looked for; absent: what is needed is installed without asking. */
  readonly dialogue?: Dialogue
}

const UNASKED: Dialogue = { say: (line) => console.error(line), ask: async () => true }

export async function startMortalPostgres(options: MortalServerOptions = {}): Promise<MortalServer> {
  const { durable = false, kept } = options
  const folder = kept?.folder ?? (await mkdtemp(join(tmpdir(), 'tallygate-postgres-')))
  const password = kept?.password ?? randomBytes(12).toString('hex')
  const end = stopWithMe(kept === undefined ? folder : null)
  return await asMortalServer({ folder, wanted: options.port, end }, (port) =>
    startPostgres({
      ...{ folder, password, durable },
      ...(options.dialogue === undefined ? {} : { say: options.dialogue.say }),
      ...(port === undefined ? {} : { port }),
    }),
  )
}

export async function startMortalRedis(options: MortalServerOptions = {}): Promise<MortalServer> {
  const { durable = false, dialogue = UNASKED } = options
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-redis-'))
  const password = randomBytes(12).toString('hex')
  const program = await findRedisProgram(dialogue)
  return await asMortalServer({ folder, wanted: options.port, end: stopWithMe(folder) }, (port) =>
    startRedis({ folder, password, durable, program, ...(port === undefined ? {} : { port }) }),
  )
}

interface Place {
  readonly folder: string
  readonly wanted: number | undefined
  readonly end: StopWithMe
}

async function asMortalServer(
  { folder, wanted, end }: Place,
  startOn: (port: number | undefined) => Promise<PrivateServer>,
): Promise<MortalServer> {
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
