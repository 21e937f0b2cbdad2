import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '../../../src/keys/clients.ts'
import { createClientKey } from '../../../src/keys/keys.ts'
import { createLog } from '../../../src/lib/log.ts'
import { until } from '../../../src/lib/until.ts'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { type NodeProcess, startNode } from '../../../src/standalone/processes/node-process.ts'
import { startPostgres } from '../../../src/standalone/servers/postgres.ts'
import { startRedis } from '../../../src/standalone/servers/redis.ts'
import { findRedisProgram } from '../../../src/standalone/servers/redis-program.ts'
import { migrate } from '../../../src/store/connection/migrate.ts'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import type { CleanUp } from './own-process.ts'
import type { Target } from './target.ts'

/** What the client has used, as `GET /v1/usage` says it. */
export interface Counted {
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
}

const READY_WITHIN_MS = 60_000
const POLL_MS = 5
/** The paths of shapes.ts say which of them they are for; the first takes the rest. */
const PROVIDERS = ['openai', 'anthropic', 'gemini', 'ollama', 'vllm']

/** The gateway as in production, with servers of its own: key, journal, Redis, worker, PostgreSQL. */
export class Tallygate {
  readonly #folder: string
  readonly #env: NodeJS.ProcessEnv
  readonly #key: string
  readonly port: number
  readonly serverPids: { readonly postgres: number; readonly redis: number }
  #gateway: NodeProcess | null = null
  #worker: NodeProcess | null = null

  private constructor(fields: {
    folder: string
    env: NodeJS.ProcessEnv
    key: string
    port: number
    serverPids: { readonly postgres: number; readonly redis: number }
  }) {
    this.#folder = fields.folder
    this.#env = fields.env
    this.#key = fields.key
    this.port = fields.port
    this.serverPids = fields.serverPids
  }

  /** Its servers run then, and neither gateway nor worker. */
  static async prepare(folder: string, originPort: number, cleanUp: CleanUp): Promise<Tallygate> {
    const log = createLog('silent', 'bench')
    const password = randomBytes(8).toString('hex')
    const postgres = await startPostgres({ folder: join(folder, 'postgres'), password, durable: true })
    cleanUp.push(() => postgres.stop())
    const program = await findRedisProgram({ say: console.error, ask: async () => true })
    const redis = await startRedis({ folder: join(folder, 'redis'), password, durable: true, program })
    cleanUp.push(() => redis.stop())
    await migrate(postgres.url, log)
    const pepper = randomBytes(16).toString('hex')
    const settings = { max: 1, statementTimeoutMs: 5_000, applicationName: 'bench', log }
    const pool = openPostgres(postgres.url, settings)
    await createClient(pool, 'bench')
    const order = { client: 'bench', name: 'bench', models: null, expiresInSeconds: null }
    const key = (await createClientKey(pool, order, pepper))?.key ?? ''
    await pool.end()
    const config = join(folder, 'upstreams.yaml')
    const lines = PROVIDERS.map((provider, index) => {
      const prefix = index === 0 ? '' : `, path_prefix: /at-${provider}`
      return `  - { name: ${provider}, url: 'http://127.0.0.1:${originPort}', provider: ${provider}${prefix} }`
    })
    writeFileSync(config, ['upstreams:', ...lines, ''].join('\n'))
    const port = await findFreePort()
    const env = {
      PATH: process.env.PATH ?? '',
      NODE_ENV: 'production',
      PRICES_REFRESH: 'off',
      TALLYGATE_CONFIG: config,
      HOST: '127.0.0.1',
      PORT: `${port}`,
      ADMIN_PORT: '0',
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      KEY_PEPPER: pepper,
      JOURNAL_DIR: join(folder, 'journal'),
      TALLYGATE_DATA_DIR: folder,
    }
    const serverPids = { postgres: postgres.pid, redis: redis.pid }
    const made = new Tallygate({ folder, env, key, port, serverPids })
    cleanUp.push(
      () => made.stopWorker(),
      () => made.stopGateway(),
    )
    return made
  }

  get gatewayPid(): number {
    return this.#gateway?.pid ?? 0
  }

  get workerPid(): number {
    return this.#worker?.pid ?? 0
  }

  get target(): Target {
    return {
      name: 'tallygate',
      host: '127.0.0.1',
      port: this.port,
      key: this.#key,
      pid: this.gatewayPid,
      takesAllWires: true,
    }
  }

  /** @returns milliseconds from the start of the process until it takes calls */
  async startGateway(env: Readonly<Record<string, string>> = {}): Promise<number> {
    const startedMs = performance.now()
    const options = process.env.GATEWAY_NODE_OPTIONS
    const given = options === undefined ? {} : { NODE_OPTIONS: options }
    const gateway = await startNode({
      script: 'src/gateway/server.ts',
      env: { ...this.#env, ...given, ...env },
      logFile: this.gatewayLog,
    })
    this.#gateway = gateway
    const isReady = async () => {
      if (!gateway.running) throw new Error(`the gateway ended:\n${gateway.lastWords(10)}`)
      return (await this.#get('/readyz'))?.ok === true ? true : null
    }
    if ((await until(isReady, { timeoutMs: READY_WITHIN_MS, everyMs: POLL_MS })) === null)
      throw new Error(`the gateway does not get ready:\n${gateway.lastWords(10)}`)
    return performance.now() - startedMs
  }

  get gatewayLog(): string {
    return join(this.#folder, 'gateway.log')
  }

  async startWorker(): Promise<void> {
    const logFile = join(this.#folder, 'worker.log')
    this.#worker = await startNode({ script: 'workers/main.ts', env: this.#env, logFile })
  }

  async stopWorker(): Promise<void> {
    await this.#worker?.stop(20_000)
    this.#worker = null
  }

  async stopGateway(): Promise<void> {
    await this.#gateway?.stop(20_000)
    this.#gateway = null
  }

  /** kill -9. */
  async killGateway(): Promise<void> {
    const gateway = this.#gateway
    if (gateway === null) return
    process.kill(gateway.pid, 'SIGKILL')
    await gateway.ended
    this.#gateway = null
  }

  /** Today's and yesterday's, so that a run over midnight loses nothing. */
  async counted(): Promise<Counted> {
    const answer = await this.#get('/v1/usage?days=2')
    if (answer === null || !answer.ok)
      throw new Error(`/v1/usage answers ${answer?.status}: ${await answer?.text()}`)
    const usage = Object(await answer.json())
    return {
      requests: Number(usage.requests),
      inputTokens: Number(usage.input_tokens),
      outputTokens: Number(usage.output_tokens),
    }
  }

  async #get(path: string): Promise<Response | null> {
    const headers = { authorization: `Bearer ${this.#key}`, connection: 'close' }
    return await fetch(`http://127.0.0.1:${this.port}${path}`, { headers }).catch(() => null)
  }
}
