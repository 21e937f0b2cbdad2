import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { migrate } from '../store/migrate.ts'
import { openPostgres, type Postgres, type StoreLog } from '../store/postgres.ts'
import { openRedis } from '../store/redis.ts'
import { waitForBacklog } from './backlog.ts'
import type { DataFolder } from './data-folder.ts'
import { createDemoKey } from './demo-client.ts'
import { findFreePort } from './free-port.ts'
import type { ProcessNotes } from './leftovers.ts'
import { startNode } from './node-process.ts'
import { type Answer, getFromGateway } from './own-gateway.ts'
import { startPostgres } from './postgres.ts'
import type { PrivateServer } from './private-server.ts'
import { startRedis } from './redis.ts'
import { findRedisProgram } from './redis-program.ts'
import { loadSecrets, type Secrets, saveSecrets } from './secrets.ts'
import { reachableHost, type Settings, shownAddress } from './settings.ts'
import { type Run, type Supervised, supervise } from './supervise.ts'
import type { Terminal } from './terminal.ts'
import { until } from './until.ts'
import { writeFileAtomically } from './write-file.ts'

/** The whole of tallygate on one machine, running. */
export interface Machine {
  readonly baseUrl: string
  readonly adminUrl: string
  readonly adminToken: string
  readonly demoKey: string
  /** What `/v1/models` answered the demo key. */
  readonly models: Answer
}

/** What a machine is made of, in the order in which it is stopped: who takes calls first, who keeps data last. */
const PARTS = ['gateway', 'worker', 'demo upstream', 'redis', 'postgres'] as const
type Part = (typeof PARTS)[number]

const READY_TIMEOUT_MS = 60_000
const BACKLOG_TIMEOUT_MS = 5_000
const STOP_GRACE_MS = 10_000
const SILENT_LOG: StoreLog = { info() {}, warn() {}, error() {} }

/** Starts and stops the parts of one machine. Whatever was started is stopped by `stop`, also after a failed start. */
export class MachineRoom {
  readonly #settings: Settings
  readonly #folder: DataFolder
  readonly #notes: ProcessNotes
  readonly #terminal: Terminal
  readonly #parts = new Map<Part, Supervised>()
  #redis: { readonly url: string } | null = null
  #pool: Postgres | null = null
  #hurried = false

  constructor(settings: Settings, folder: DataFolder, notes: ProcessNotes, terminal: Terminal) {
    this.#settings = settings
    this.#folder = folder
    this.#notes = notes
    this.#terminal = terminal
  }

  /** @throws Error for the user; also when `givenUp` is aborted */
  async start(givenUp: AbortSignal): Promise<Machine> {
    const { config, wantsDemoUpstream } = this.#settings
    const secretsFile = this.#folder.file('secrets.json')
    const secrets = loadSecrets(secretsFile)
    const keyPepper = this.#settings.keyPepper ?? secrets.keyPepper
    const adminToken = this.#settings.adminToken ?? secrets.adminToken

    const [databaseUrl, redisUrl, upstreamUrl] = await allOrFirstFailure([
      this.#openDatabase(secrets, givenUp),
      this.#openRedis(secrets, givenUp),
      wantsDemoUpstream ? this.#startDemoUpstream(givenUp) : null,
    ])
    givenUp.throwIfAborted()
    await this.#migrate(databaseUrl)
    this.#redis = { url: redisUrl }
    const pool = openPostgres(databaseUrl, {
      max: 2,
      statementTimeoutMs: 10_000,
      applicationName: 'tallygate npm start',
      log: SILENT_LOG,
    })
    this.#pool = pool
    const newDemoKey = async () => {
      const demoKey = await createDemoKey(pool, keyPepper.split(',')[0] ?? keyPepper)
      saveSecrets(secretsFile, { ...secrets, demoKey })
      return demoKey
    }
    let demoKey = secrets.demoKey ?? (await newDemoKey())

    const [port, adminPort] = [
      config.port || (await findFreePort()),
      config.adminPort || (await findFreePort()),
    ]
    const baseUrl = `${config.tls === null ? 'http' : 'https'}://${reachableHost(config.host)}:${port}`
    const adminUrl = `http://${reachableHost(config.adminHost)}:${adminPort}`
    const env = {
      ...process.env,
      HOST: config.host,
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      ADMIN_TOKEN: adminToken,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      KEY_PEPPER: keyPepper,
      TALLYGATE_DATA_DIR: this.#folder.path,
      ...(upstreamUrl === null ? {} : { UPSTREAM_URL: upstreamUrl }),
    }
    givenUp.throwIfAborted()
    this.#terminal.say('starting gateway and worker')
    await allOrFirstFailure([
      this.#keep('gateway', givenUp, (stopped) => this.#startGateway(env, baseUrl, stopped)),
      this.#keep('worker', givenUp, () => this.#startNode('worker', 'workers/main.ts', env)),
    ])

    let models = await getFromGateway(`${baseUrl}${config.basePath}/v1/models`, demoKey)
    if (models?.status === 401) {
      demoKey = await newDemoKey() // another database or pepper than when the kept one was made
      models = await getFromGateway(`${baseUrl}${config.basePath}/v1/models`, demoKey)
    }
    const running = {
      pid: process.pid,
      baseUrl: `${baseUrl}${config.basePath}`,
      adminUrl,
      databaseUrl,
      redisUrl,
      redisPrefix: config.redisPrefix,
      keyPepper,
      adminToken,
      journalDir: process.env.JOURNAL_DIR || this.#folder.file('journal'),
    }
    writeFileAtomically(this.#folder.file('running.json'), `${JSON.stringify(running, null, 2)}\n`)
    return { baseUrl: running.baseUrl, adminUrl, adminToken, demoKey, models }
  }

  /**
   * Stops in order: no new calls, running ones end, what is in the streams is counted, then the servers. Nothing is lost
   * when a step does not succeed: what is not counted is in the journal or on disk, and counted after the next start.
   */
  async stop(): Promise<void> {
    rmSync(this.#folder.file('running.json'), { force: true })
    await this.#stopPart('gateway', this.#settings.config.shutdownGraceMs + 5_000)
    await this.#countBacklog()
    await this.#pool?.end().catch(() => {})
    for (const part of PARTS) await this.#stopPart(part, STOP_GRACE_MS)
  }

  /** Makes a stop under way quick and rough. Safe: every part is made to survive worse. */
  hurry(): void {
    this.#hurried = true
    for (const [part, supervised] of this.#parts) {
      if (part === 'postgres') supervised.signal('SIGQUIT')
      else if (part === 'redis') supervised.signal('SIGTERM')
      else supervised.signal('SIGKILL')
    }
  }

  async #openDatabase(secrets: Secrets, givenUp: AbortSignal): Promise<string> {
    const { databaseUrl } = this.#settings
    if (databaseUrl !== null) {
      this.#terminal.say(`using the PostgreSQL of DATABASE_URL at ${shownAddress(databaseUrl)}`)
      return databaseUrl
    }
    const folder = this.#folder.folder('postgres')
    return await this.#keepServer('postgres', givenUp, (port) =>
      startPostgres({
        folder,
        password: secrets.postgresPassword,
        durable: true,
        onFirstStart: () => this.#terminal.say('making a private PostgreSQL (first start only)'),
        ...port,
      }),
    )
  }

  async #openRedis(secrets: Secrets, givenUp: AbortSignal): Promise<string> {
    const { redisUrl } = this.#settings
    if (redisUrl !== null) {
      this.#terminal.say(`using the Redis of REDIS_URL at ${shownAddress(redisUrl)}`)
      return redisUrl
    }
    const program = await findRedisProgram(this.#terminal)
    this.#terminal.say(`starting a private ${program.name}`)
    const folder = this.#folder.folder('redis')
    return await this.#keepServer('redis', givenUp, (port) =>
      startRedis({ folder, password: secrets.redisPassword, durable: true, program, ...port }),
    )
  }

  async #startDemoUpstream(givenUp: AbortSignal): Promise<string> {
    const port = await findFreePort()
    const args = ['--host', '127.0.0.1', '--port', String(port)]
    await this.#keep('demo upstream', givenUp, () =>
      this.#startNode('demo upstream', 'src/standalone/demo-upstream.ts', process.env, args),
    )
    return `http://127.0.0.1:${port}`
  }

  async #migrate(databaseUrl: string): Promise<void> {
    try {
      await migrate(databaseUrl, SILENT_LOG)
    } catch (cause) {
      const where =
        this.#settings.databaseUrl === null ? '' : ` at ${shownAddress(databaseUrl)} (DATABASE_URL)`
      throw new Error(
        `PostgreSQL${where} could not be prepared: ${cause instanceof Error ? cause.message || cause : cause}`,
        {
          cause,
        },
      )
    }
  }

  /** A gateway is of use once it is ready for calls. */
  async #startGateway(env: NodeJS.ProcessEnv, baseUrl: string, givenUp: AbortSignal): Promise<Run> {
    const gateway = await this.#startNode('gateway', 'src/server.ts', env)
    const answer = await until(
      async () => {
        if (givenUp.aborted) return 'given up'
        if (!gateway.running) return 'ended'
        return (await getFromGateway(`${baseUrl}/readyz`))?.status === 200 ? 'ready' : null
      },
      { timeoutMs: READY_TIMEOUT_MS },
    )
    if (answer === 'ready') return gateway
    await gateway.stop(1_000)
    givenUp.throwIfAborted()
    throw new Error(
      `the gateway did not get ready, its log is ${this.#logFile('gateway')}:\n${gateway.lastWords(15)}`,
    )
  }

  async #startNode(part: Part, script: string, env: NodeJS.ProcessEnv, args: readonly string[] = []) {
    return await startNode({ script, args, env, logFile: this.#logFile(part) })
  }

  #logFile(part: Part): string {
    this.#folder.folder('logs')
    return this.#folder.file('logs', `${part.replace(' ', '-')}.log`)
  }

  async #keepServer(
    part: Part,
    givenUp: AbortSignal,
    start: (port: { readonly port?: number }) => Promise<PrivateServer>,
  ): Promise<string> {
    let first: PrivateServer | null = null
    await this.#keep(part, givenUp, async () => {
      const server = await start(first === null ? {} : { port: first.port })
      first ??= server
      return server
    })
    if (first === null) throw new Error(`${part} did not start`)
    return (first as PrivateServer).url
  }

  async #keep(
    part: Part,
    givenUp: AbortSignal,
    start: (givenUp: AbortSignal) => Promise<Run>,
  ): Promise<void> {
    const options = {
      name: part,
      start,
      onStarted: (pid: number) => this.#notes.note(part, pid),
      say: (line: string) => this.#terminal.say(line),
    }
    this.#parts.set(part, await supervise(options, givenUp))
    if (this.#hurried) this.hurry()
  }

  async #stopPart(part: Part, graceMs: number): Promise<void> {
    const supervised = this.#parts.get(part)
    if (supervised === undefined) return
    await supervised.stop(graceMs)
    this.#parts.delete(part)
  }

  async #countBacklog(): Promise<void> {
    if (this.#pool === null || this.#redis === null || !this.#parts.has('worker')) return
    const redis = openRedis(this.#redis.url, {
      name: `tallygate npm start ${randomBytes(2).toString('hex')}`,
      whenAway: 'fail',
      silenceMs: 2_000,
      log: SILENT_LOG,
    })
    const left = await waitForBacklog(this.#pool, redis, BACKLOG_TIMEOUT_MS, () => this.#hurried)
    redis.disconnect()
    if (left !== 0) this.#terminal.say('some calls will be counted after the next start')
  }
}

/** Waits for all, also when one fails, so that nothing is still being started when the failure is dealt with. */
async function allOrFirstFailure<const T extends readonly unknown[]>(
  tasks: T,
): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  await Promise.allSettled(tasks)
  return (await Promise.all(tasks)) as { -readonly [I in keyof T]: Awaited<T[I]> }
}
