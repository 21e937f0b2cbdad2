import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { until } from '../../../src/lib/until.ts'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { type NodeProcess, startNode } from '../../../src/standalone/processes/node-process.ts'
import { CallCount, type Counted } from './call-count.ts'
import type { CleanUp } from './own-process.ts'
import { type Stores, startStores } from './stores.ts'
import type { Target } from './target.ts'

const READY_WITHIN_MS = 60_000
const POLL_MS = 5
/** The paths of shapes.ts say which of them they are for; the first takes the rest. */
const PROVIDERS = ['openai', 'anthropic', 'gemini', 'ollama', 'vllm']

export interface TallygateOptions {
  readonly name: string
  /** Where its code is: this checkout, or another one to compare with. */
  readonly checkout: string
  /** Made here: data, journal, logs. */
  readonly folder: string
  readonly originPort: number
}

/** The gateway as in production, with servers of its own: key, journal, Redis, worker, PostgreSQL. */
export class Tallygate {
  readonly name: string
  readonly count = new CallCount(() => this.#counted())
  readonly #checkout: string
  readonly #folder: string
  readonly #env: NodeJS.ProcessEnv
  readonly #key: string
  readonly port: number
  readonly serverPids: Stores['pids']
  #gateway: NodeProcess | null = null
  #worker: NodeProcess | null = null

  private constructor(
    options: TallygateOptions,
    fields: { env: NodeJS.ProcessEnv; stores: Stores; port: number },
  ) {
    this.name = options.name
    this.#checkout = relative(process.cwd(), options.checkout)
    this.#folder = options.folder
    this.#env = fields.env
    this.#key = fields.stores.key
    this.port = fields.port
    this.serverPids = fields.stores.pids
  }

  /** Its servers run then, and neither gateway nor worker. */
  static async prepare(options: TallygateOptions, cleanUp: CleanUp): Promise<Tallygate> {
    const { folder, originPort } = options
    mkdirSync(folder)
    const stores = await startStores(folder, cleanUp)
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
      DATABASE_URL: stores.databaseUrl,
      REDIS_URL: stores.redisUrl,
      KEY_PEPPER: stores.pepper,
      JOURNAL_DIR: join(folder, 'journal'),
      TALLYGATE_DATA_DIR: folder,
    }
    const made = new Tallygate(options, { env, stores, port })
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

  /** Of its own PostgreSQL. */
  get databaseUrl(): string {
    return this.#env.DATABASE_URL ?? ''
  }

  get target(): Target {
    return {
      name: this.name,
      host: '127.0.0.1',
      port: this.port,
      key: this.#key,
      pid: this.gatewayPid,
      takesAllWires: true,
      keepsBytes: true,
    }
  }

  /** @returns milliseconds from the start of the process until it takes calls */
  async startGateway(env: Readonly<Record<string, string>> = {}): Promise<number> {
    const startedMs = performance.now()
    const options = process.env.GATEWAY_NODE_OPTIONS
    const given = options === undefined ? {} : { NODE_OPTIONS: options }
    const gateway = await startNode({
      script: join(this.#checkout, 'src/gateway/server.ts'),
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
    this.#worker = await startNode({
      script: join(this.#checkout, 'workers/main.ts'),
      env: this.#env,
      logFile,
    })
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
  async #counted(): Promise<Counted> {
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
