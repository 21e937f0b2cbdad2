import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../../../../src/keys/clients.ts'
import { createClientKey } from '../../../../src/keys/keys.ts'
import { type LimitOrder, setLimits } from '../../../../src/limits/table/change-limits.ts'
import { findFreePort } from '../../../../src/standalone/processes/free-port.ts'
import type { Postgres } from '../../../../src/store/connection/postgres.ts'
import { gatewayProcess, type TestProcess, workerProcess } from '../../../support/processes.ts'
import { openTestPool } from '../../../support/servers/database.ts'
import type { TestUpstream } from '../../../support/upstream.ts'
import { MODEL, priceFile, startOrigin } from './origin.ts'

/** A client with limits of its own. */
export interface LimitedClient {
  readonly id: string
  readonly name: string
  readonly key: string
}

/** What a call came to. */
export interface Answer {
  readonly status: number
  /** `''`: it was served. */
  readonly code: string
  readonly message: string
  readonly headers: Headers
}

export interface CallOrder {
  /** By the place of the gateway. */
  readonly gateway: number
  readonly outputTokens: number
  readonly ms?: number
  readonly cached?: number
  readonly maxTokens?: number
  readonly stream?: boolean
  /** The header `x-user`, where `yaml` has an axis of it. */
  readonly user?: string
}

/** Gateways and workers as processes, on stores of a test, before an origin whose cost is known. */
export interface LimitedWorld {
  readonly gateways: readonly TestProcess[]
  readonly worker: TestProcess
  readonly urls: readonly string[]
  readonly origin: TestUpstream
  readonly pool: Postgres
  readonly env: Readonly<Record<string, string>>
  addClient(name: string, orders: readonly LimitOrder[]): Promise<LimitedClient>
  /** Until every gateway has read the limits of all clients that were added. */
  limitsRead(): Promise<void>
  call(client: LimitedClient, order: CallOrder): Promise<Answer>
  /** What `/v1/usage` says of today and `days - 1` days before, of a gateway. */
  usage(
    client: LimitedClient,
    gateway?: number,
    days?: number,
  ): Promise<{ requests: number; cost_usd: number }>
  stop(): Promise<void>
}

export interface WorldOptions {
  readonly gateways: number
  readonly redisUrl: string
  readonly databaseUrl: string
  readonly yaml?: readonly string[]
  /** More of the environment of a gateway, by its place. */
  readonly envOf?: (gateway: number) => Readonly<Record<string, string>>
  readonly workerEnv?: Readonly<Record<string, string>>
}

/** Every client has it, so that answers show whether their gateway has read the client's limits. */
const SHOWN: LimitOrder = { kind: 'requests', per: null, isSoft: false, amount: 1_000_000_000n }

export async function startLimitedWorld(options: WorldOptions): Promise<LimitedWorld> {
  const { redisUrl, databaseUrl } = options
  const origin = await startOrigin()
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-limits-'))
  const config = join(folder, 'tallygate.yaml')
  await writeFile(config, priceFile(origin.url, options.yaml))
  const pepper = randomBytes(16).toString('hex')
  const pool = openTestPool(databaseUrl)
  const env = {
    TALLYGATE_CONFIG: config,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: `limits-${randomBytes(4).toString('hex')}:`,
    KEY_PEPPER: pepper,
    NODE_COMPILE_CACHE: 'node_modules/.cache/compiled',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'fatal',
  }
  const ports = await Promise.all(Array.from({ length: options.gateways }, () => findFreePort()))
  const gateways = ports.map((port, index) =>
    gatewayProcess(`gateway ${index}`, port, {
      ...env,
      JOURNAL_DIR: join(folder, `journal-${index}`),
      ...options.envOf?.(index),
    }),
  )
  const worker = workerProcess('worker', {
    ...env,
    JOURNAL_DIR: join(folder, 'journal-worker'),
    ...options.workerEnv,
  })
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  const stop = async () => {
    await Promise.all([...gateways, worker].map((process) => process.kill()))
    await pool.end()
    await Promise.all([origin.close(), rm(folder, { recursive: true, force: true })])
  }
  try {
    // One after the other: together they would be slow to start on a machine with few cores.
    for (const process of [...gateways, worker]) await process.start()
  } catch (error) {
    await stop()
    throw error
  }

  const clients: LimitedClient[] = []
  return {
    gateways,
    worker,
    urls,
    origin,
    pool,
    env,
    async addClient(name, orders) {
      const created = await createClient(pool, name)
      const id = created?.id ?? ''
      const order = { client: name, name: 'default', models: null, expiresInSeconds: null }
      const key = (await createClientKey(pool, order, pepper))?.key ?? ''
      const all = orders.some(({ kind }) => kind === 'requests') ? orders : [...orders, SHOWN]
      await setLimits(pool, { clientId: id, keyId: null, model: null }, all, 'test')
      const client = { id, name, key }
      clients.push(client)
      return client
    },
    async limitsRead() {
      for (const { key } of clients) {
        for (const url of urls) {
          const hasRead = async () => {
            // Free, and so nothing of a budget.
            const { headers } = await fetch(`${url}/v1/files`, {
              headers: { authorization: `Bearer ${key}` },
            })
            return headers.has('x-ratelimit-limit-requests')
          }
          while (!(await hasRead())) await delay(50)
        }
      }
    },
    async call({ key }, { gateway, outputTokens, ms = 0, cached = 0, maxTokens, stream, user }) {
      const answer = await fetch(`${urls[gateway]}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          ...(user === undefined ? {} : { 'x-user': user }),
        },
        body: JSON.stringify({
          model: MODEL,
          user: `${outputTokens},${ms},${cached}`,
          ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
          ...(stream === true ? { stream: true } : {}),
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      })
      const text = await answer.text()
      const { error } = answer.ok ? {} : JSON.parse(text)
      return {
        status: answer.status,
        code: error?.code ?? '',
        message: error?.message ?? '',
        headers: answer.headers,
      }
    },
    async usage({ key }, gateway = 0, days = 1) {
      const answer = await fetch(`${urls[gateway]}/v1/usage?days=${days}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      return (await answer.json()) as { requests: number; cost_usd: number }
    },
    stop,
  }
}

/** Says at once that a call was refused that should not be: the run may be stopped before it could fail. */
export function reportRefusal(
  gateway: number,
  { code, message }: Pick<Answer, 'code' | 'message'>,
  sentAtMs: number,
): string {
  const text = `gateway ${gateway} after ${Math.round(performance.now() - sentAtMs)} ms: ${code}, ${message}`
  console.log(`refused within its limits: ${text}`)
  return text
}

/** A hard budget in US dollars. */
export function budget(usd: number, per: 'day' | 'week' | 'month' | 'total' = 'day'): LimitOrder {
  return { kind: 'budget', per, isSoft: false, amount: BigInt(Math.round(usd * 1e6)) * 1_000_000n }
}

/** A limit on requests or tokens a minute, or on calls at once. */
export function rate(
  kind: 'requests' | 'tokens' | 'concurrent',
  amount: number,
  countsCached?: boolean,
): LimitOrder {
  return { kind, per: null, isSoft: false, amount: BigInt(amount), countsCached }
}
