import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createClient } from '../../keys/clients.ts'
import { createClientKey } from '../../keys/keys.ts'
import { createLog } from '../../lib/log.ts'
import { migrate } from '../../store/connection/migrate.ts'
import { openPostgres, type Postgres } from '../../store/connection/postgres.ts'
import type { Dialogue } from '../servers/redis-program.ts'
import { type Child, childProcess } from './child.ts'
import { claimLastingPort } from './lasting-port.ts'
import { type MortalServer, startMortalPostgres, startMortalRedis } from './private-servers.ts'
import { stopWithMe } from './stop-with-me.ts'

/**
 * PostgreSQL, Redis, gateways and workers, each a process of its own as in production, on loopback ports that stay
 * theirs. All of it ends with this process, however that ends, and its folder is deleted.
 */
export interface Stand {
  readonly folder: string
  readonly journalDir: string
  readonly postgres: MortalServer
  readonly redis: MortalServer
  /** Straight to Postgres. */
  readonly pool: Postgres
  readonly pepper: string
  addClient(name: string, keyNames?: readonly string[]): Promise<StandClient>
  gateway(program?: Program): Promise<StandGateway>
  /** A worker, which is still to be started. */
  worker(program?: Program): Child
  stop(): Promise<void>
}

export interface StandOptions {
  /** The name of folder, connections, and logs. */
  readonly name: string
  /** Variables of every gateway and worker, above those that the stand sets. */
  readonly env?: Readonly<Record<string, string>>
  /** The folder of data that stay, to be used again with the same password; absent: they are deleted. */
  readonly kept?: { readonly folder: string; readonly password: string }
  /** Servers sync what they write; absent: they do. */
  readonly durable?: boolean
  readonly connections?: number
  /** Longest statement of `pool`. */
  readonly statementTimeoutMs?: number
  /** Done with PostgreSQL before it is migrated. */
  readonly onPostgres?: (url: string) => Promise<void>
  /** The user, while programs are looked for; absent: what is needed is installed without asking. */
  readonly dialogue?: Dialogue
}

/** How one gateway or worker differs from the others. */
export interface Program {
  /** The name of its log; absent: the kind and a number. */
  readonly name?: string
  /** A function is asked at each start. */
  readonly env?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>)
  /** The checkout of its code; absent: this one. */
  readonly checkout?: string
  /** In place of the program itself, from the checkout's root. */
  readonly script?: string
  readonly args?: readonly string[]
  readonly preloads?: readonly string[]
  /** In place of its first answer to `/readyz`. */
  readonly isReady?: () => Promise<boolean>
  /** Between two calls of `isReady`. */
  readonly pollMs?: number
}

export interface StandClient {
  readonly id: string
  /** The first of `keys`. */
  readonly key: string
  readonly keys: readonly string[]
}

export interface StandGateway extends Child {
  readonly port: number
  readonly url: string
  readonly adminUrl: string
}

const PATH = process.env.PATH ?? ''

/** A migrated PostgreSQL, and a pool to it. */
export async function startDatabase(options: StandOptions) {
  const { name, durable = true, kept, connections = 4, statementTimeoutMs = 60_000, dialogue } = options
  const log = createLog('silent', name)
  const own = kept === undefined ? {} : { kept: { ...kept, folder: join(kept.folder, 'postgres') } }
  const asking = dialogue === undefined ? {} : { dialogue }
  const postgres = await startMortalPostgres({ durable, port: await claimLastingPort(), ...own, ...asking })
  await options.onPostgres?.(postgres.url)
  await migrate(postgres.url, log)
  const pool = openPostgres(postgres.url, {
    max: connections,
    statementTimeoutMs,
    applicationName: `tallygate ${name}`,
    log,
  })
  return { postgres, pool }
}

export async function startStand(options: StandOptions): Promise<Stand> {
  const { name, durable = true, kept } = options
  const folder = kept?.folder ?? (await mkdtemp(join(tmpdir(), `tallygate-${name}-`)))
  await mkdir(folder, { recursive: true })
  const end = stopWithMe(kept === undefined ? folder : null)
  const [{ postgres, pool }, redis] = await Promise.all([
    startDatabase(options),
    startMortalRedis({
      durable,
      port: await claimLastingPort(),
      ...(options.dialogue === undefined ? {} : { dialogue: options.dialogue }),
    }),
  ])
  const pepper = kept?.password ?? randomBytes(16).toString('hex')
  const journalDir = join(folder, 'journal')
  const children: Child[] = []

  function program(
    kind: 'gateway' | 'worker',
    given: Program,
    script: string,
    env: Record<string, string>,
  ): Child {
    const own = given.name ?? `${kind} ${children.length}`
    const child = childProcess({
      name: own,
      script: join(relative(process.cwd(), given.checkout ?? process.cwd()), given.script ?? script),
      args: given.args ?? [],
      preloads: given.preloads ?? [],
      env: () => ({
        PATH,
        NODE_ENV: 'production',
        DATABASE_URL: postgres.url,
        REDIS_URL: redis.url,
        KEY_PEPPER: pepper,
        PRICES_REFRESH: 'off',
        LOG_LEVEL: 'warn',
        ...options.env,
        ...env,
        ...(typeof given.env === 'function' ? given.env() : given.env),
      }),
      logFile: join(folder, `${own.replaceAll(' ', '-')}.log`),
      isReady: given.isReady ?? (async () => true),
      ...(given.pollMs === undefined ? {} : { pollMs: given.pollMs }),
    })
    children.push(child)
    return child
  }

  return {
    folder,
    journalDir,
    postgres,
    redis,
    pool,
    pepper,
    async addClient(client, keyNames = ['default']) {
      const made = await createClient(pool, client)
      const keys: string[] = []
      for (const key of keyNames)
        keys.push(
          (await createClientKey(pool, { client, name: key, models: null, expiresInSeconds: null }, pepper))
            ?.key ?? '',
        )
      return { id: made?.id ?? '', key: keys[0] ?? '', keys }
    },
    async gateway(given = {}) {
      const [port, adminPort] = [await claimLastingPort(), await claimLastingPort()]
      const url = `http://127.0.0.1:${port}`
      const env = {
        HOST: '127.0.0.1',
        PORT: `${port}`,
        ADMIN_PORT: `${adminPort}`,
        JOURNAL_DIR: journalDir,
        TALLYGATE_DATA_DIR: folder,
      }
      const child = program(
        'gateway',
        { isReady: () => isReady(url), ...given },
        'src/gateway/server.ts',
        env,
      )
      return Object.assign(child, { port, url, adminUrl: `http://127.0.0.1:${adminPort}` })
    },
    worker: (given = {}) => program('worker', given, 'workers/main.ts', {}),
    async stop() {
      await Promise.all(children.map((child) => child.kill()))
      await pool.end()
      await Promise.all([postgres.stop(), redis.stop()])
      await end.now()
    },
  }
}

/** Asked over a connection of its own: those of several processes that share a port are dealt out by connection. */
export async function isReady(url: string): Promise<boolean> {
  return await fetch(`${url}/readyz`, { headers: { connection: 'close' } }).then(
    (answer) => answer.ok,
    () => false,
  )
}
