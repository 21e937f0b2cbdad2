import { chownSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../../src/lib/repeat.ts'
import { type DetachedProcess, startDetached } from '../../../src/standalone/processes/detached-process.ts'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { chooseServerAccount } from '../../../src/standalone/servers/server-account.ts'
import { stopWithMe } from '../../../src/standalone/stand/stop-with-me.ts'
import type { Cluster } from './cluster.ts'

const PROGRAM = '/usr/sbin/pgbouncer'

export interface PgBouncer {
  readonly url: string
  /** kill -9. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Stops it for good. */
  remove(): Promise<void>
}

/** PgBouncer before the server, with a few server connections for everybody. */
export async function startPgBouncer(
  cluster: Cluster,
  options: { readonly poolMode: 'transaction' | 'session'; readonly ignoresOptions: boolean },
): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-pgbouncer-'))
  const runAs = chooseServerAccount(folder, { file: PROGRAM, args: ['--version'] })
  const end = stopWithMe(folder)
  const port = await findFreePort()
  const userFile = join(folder, 'users')
  const configFile = join(folder, 'pgbouncer.ini')
  writeFileSync(userFile, `"${cluster.user}" "${cluster.password}"\n`)
  writeFileSync(
    configFile,
    `[databases]
* = host=${cluster.host} port=${cluster.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${userFile}
pool_mode = ${options.poolMode}
default_pool_size = ${options.poolMode === 'transaction' ? 6 : 60}
max_client_conn = 500
${options.ignoresOptions ? 'ignore_startup_parameters = options' : ''}
`,
  )
  const { uid, gid } = statSync(folder)
  for (const file of [userFile, configFile]) chownSync(file, uid, gid)
  let server: DetachedProcess | null = null
  const start = async () => {
    const started = await startDetached(runAs(PROGRAM, ['-q', configFile]), {
      cwd: folder,
      logFile: join(folder, 'pgbouncer.log'),
    })
    server = started
    end.add(started.pid)
    const isOpen = async () => (started.running ? ((await accepts(port)) ? 'open' : null) : 'ended')
    if ((await until(isOpen, { timeoutMs: 10_000 })) !== 'open')
      throw new Error(`PgBouncer did not start: ${started.lastWords()}`)
  }
  await start()
  return {
    url: `postgres://${cluster.user}:${cluster.password}@127.0.0.1:${port}/postgres`,
    start,
    async kill() {
      if (server === null) return
      process.kill(server.pid, 'SIGKILL')
      await server.ended
    },
    remove: () => end.now(),
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
