import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Child } from '../../../src/standalone/stand/child.ts'
import { type Stand, type StandGateway, startStand } from '../../stand/stand.ts'
import { CallCount, type Counted } from './call-count.ts'
import type { Target } from './target.ts'

const STOP_GRACE_MS = 20_000
/** The paths of shapes.ts say which of them they are for; the first takes the rest. */
const PROVIDERS = ['openai', 'anthropic', 'gemini', 'ollama', 'vllm', 'bedrock', 'cohere']

export interface TallygateOptions {
  readonly name: string
  /** Where its code is: this checkout, or another one to compare with. */
  readonly checkout: string
  readonly originPort: number
  /** YAML behind that of the upstreams; absent: none. */
  readonly yaml?: string
}

/** What the gateway's next start has above the others. */
interface NextStart {
  env: Readonly<Record<string, string>>
}

/** The gateway as in production, with servers of its own: key, journal, Redis, worker, PostgreSQL. */
export class Tallygate {
  readonly name: string
  readonly count = new CallCount(() => this.#counted())
  readonly stand: Stand
  readonly gatewayLog: string
  readonly #key: string
  readonly #gateway: StandGateway
  readonly #worker: Child
  readonly #nextStart: NextStart

  private constructor(
    { name, checkout }: TallygateOptions,
    fields: { stand: Stand; key: string; gateway: StandGateway; nextStart: NextStart },
  ) {
    this.name = name
    this.stand = fields.stand
    this.gatewayLog = join(fields.stand.folder, 'gateway.log')
    this.#key = fields.key
    this.#gateway = fields.gateway
    this.#nextStart = fields.nextStart
    this.#worker = fields.stand.worker({ checkout })
  }

  /** Its servers run then, and neither gateway nor worker. */
  static async prepare(options: TallygateOptions): Promise<Tallygate> {
    const { name, checkout, originPort, yaml = '' } = options
    const stand = await startStand({ name, env: { LOG_LEVEL: 'info' }, connections: 1 })
    const config = join(stand.folder, 'upstreams.yaml')
    const lines = PROVIDERS.map((provider, index) => {
      const prefix = index === 0 ? '' : `, path_prefix: /at-${provider}`
      return `  - { name: ${provider}, url: 'http://127.0.0.1:${originPort}', provider: ${provider}${prefix} }`
    })
    writeFileSync(config, ['upstreams:', ...lines, yaml].join('\n'))
    const { key } = await stand.addClient('bench')
    const given = process.env.GATEWAY_NODE_OPTIONS
    const nextStart: NextStart = { env: {} }
    const gateway = await stand.gateway({
      name: 'gateway',
      checkout,
      env: () => ({
        TALLYGATE_CONFIG: config,
        ...(given === undefined ? {} : { NODE_OPTIONS: given }),
        ...nextStart.env,
      }),
      pollMs: 5,
    })
    return new Tallygate(options, { stand, key, gateway, nextStart })
  }

  get gatewayPid(): number {
    return this.#gateway.running ? this.#gateway.pid : 0
  }

  get workerPid(): number {
    return this.#worker.running ? this.#worker.pid : 0
  }

  get target(): Target {
    return {
      name: this.name,
      host: '127.0.0.1',
      port: this.#gateway.port,
      key: this.#key,
      pid: this.gatewayPid,
      takesAllWires: true,
      keepsBytes: true,
    }
  }

  /** @returns milliseconds from the start of the process until it takes calls */
  async startGateway(env: Readonly<Record<string, string>> = {}): Promise<number> {
    const startedMs = performance.now()
    this.#nextStart.env = env
    await this.#gateway.start()
    return performance.now() - startedMs
  }

  async startWorker(): Promise<void> {
    await this.#worker.start()
  }

  async stopWorker(): Promise<void> {
    if (this.#worker.running) await this.#worker.stop(STOP_GRACE_MS)
  }

  async stopGateway(): Promise<void> {
    if (this.#gateway.running) await this.#gateway.stop(STOP_GRACE_MS)
  }

  /** kill -9. */
  async killGateway(): Promise<void> {
    await this.#gateway.kill()
  }

  /** Today's and yesterday's, so that a run over midnight loses nothing. */
  async #counted(): Promise<Counted> {
    const headers = { authorization: `Bearer ${this.#key}`, connection: 'close' }
    const answer = await fetch(`${this.#gateway.url}/v1/usage?days=2`, { headers })
    if (!answer.ok) throw new Error(`/v1/usage answers ${answer.status}: ${await answer.text()}`)
    const usage = Object(await answer.json())
    return {
      requests: Number(usage.requests),
      inputTokens: Number(usage.input_tokens),
      outputTokens: Number(usage.output_tokens),
    }
  }
}
