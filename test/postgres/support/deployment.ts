import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import { createClient } from '../../../src/keys/clients.ts'
import { createClientKey } from '../../../src/keys/keys.ts'
import { SILENT_LOG } from '../../../src/lib/logger.ts'
import { until } from '../../../src/lib/repeat.ts'
import { type LimitOrder, setLimits } from '../../../src/limits/table/change-limits.ts'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { migrate } from '../../../src/store/connection/migrate.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { type TestProcess, testProcess, workerProcess } from '../../support/processes.ts'
import { testRedisPrefix } from '../../support/servers/redis.ts'
import { json, startUpstream } from '../../support/upstream.ts'

const PEPPER = 'pepper-of-the-tests-0123456789'
const AT_ONCE = 10
const READY_WITHIN_MS = 90_000
/** No longer than a failover takes to be noticed and all that waited to be counted. */
const COUNTED_WITHIN_MS = 120_000

/** They are in force, so that every call asks for shares of them, and refuse none. */
const AMPLE_LIMITS: readonly LimitOrder[] = [
  { kind: 'budget', per: 'month', isSoft: false, amount: 10n ** 24n },
  { kind: 'requests', per: null, isSoft: false, amount: 10n ** 9n },
  { kind: 'tokens', per: null, isSoft: false, amount: 10n ** 12n },
  { kind: 'concurrent', per: null, isSoft: false, amount: 10n ** 6n },
]

/** A call as its client saw it. */
export interface AnsweredCall {
  readonly id: string
  readonly inputTokens: number
}

/** A gateway and a worker, processes of their own, with a client that calls and has limits that it does not reach. */
export interface Deployment {
  /** Of the gateway. */
  readonly url: string
  readonly pepper: string
  /** What a call sends that is none of {@link callUntil}. */
  readonly body: object
  readonly pool: Postgres
  readonly worker: TestProcess
  /** Makes calls, ten at a time, until `isOver`; each uses tokens of its own. Fails when one is not answered. */
  callUntil(isOver: () => boolean): Promise<readonly AnsweredCall[]>
  /** Waits until all of them are counted, and returns what is: rows of calls, and totals. */
  counted(calls: readonly AnsweredCall[]): Promise<Counted>
  stop(): Promise<void>
}

export interface Counted {
  readonly ids: readonly string[]
  readonly requests: number
  readonly inputTokens: number
  readonly gaps: number
}

/** @param databaseUrl For the migrations, the gateway and the worker, and `pool`. */
export async function deploy(
  databaseUrl: string,
  urls: Readonly<Partial<Record<'migrate' | 'gateway' | 'worker', string>>> = {},
): Promise<Deployment> {
  await migrate(urls.migrate ?? databaseUrl, SILENT_LOG)
  const prefix = testRedisPrefix()
  const upstream = await startUpstream((request, response) => {
    const input = JSON.parse(request.body.toString()).metadata.input
    const usage = { prompt_tokens: input, completion_tokens: 1, total_tokens: input + 1 }
    json(response, 200, {
      id: `r-${input}`,
      object: 'chat.completion',
      model: 'gpt-4o-mini',
      choices: [],
      usage,
    })
  })
  const pool = openPostgres(databaseUrl, {
    max: 4,
    statementTimeoutMs: 10_000,
    applicationName: 'test deployment',
    log: SILENT_LOG,
  })
  const client = await createClient(pool, 'acme')
  await setLimits(pool, { clientId: client?.id ?? '', keyId: null, model: null }, AMPLE_LIMITS, 'deployment')
  const order = { client: 'acme', name: 'default', models: null, expiresInSeconds: null }
  const key = (await createClientKey(pool, order, PEPPER))?.key ?? ''
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-deployment-'))
  const env = {
    UPSTREAM_URL: upstream.url,
    UPSTREAM_PROVIDER: 'openai',
    REDIS_URL: prefix.redisUrl,
    REDIS_PREFIX: prefix.prefix,
    KEY_PEPPER: PEPPER,
    JOURNAL_DIR: join(folder, 'journal'),
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'fatal',
  }
  const port = await findFreePort()
  const gateway = testProcess(
    'gateway',
    'src/gateway/server.ts',
    {
      ...env,
      DATABASE_URL: urls.gateway ?? databaseUrl,
      HOST: '127.0.0.1',
      PORT: `${port}`,
      ADMIN_PORT: '0',
    },
    () => untilAnswering(port),
  )
  const worker = workerProcess('worker', { ...env, DATABASE_URL: urls.worker ?? databaseUrl })
  const agent = new Agent({ connections: AT_ONCE })
  let nextTokens = 1_000
  await Promise.all([gateway.start(), worker.start()])

  async function call(): Promise<AnsweredCall> {
    const inputTokens = nextTokens++
    const response = await agent.request({
      origin: `http://127.0.0.1:${port}`,
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', metadata: { input: inputTokens }, messages: [] }),
    })
    const text = await response.body.text()
    if (response.statusCode !== 200)
      throw new Error(`a call was answered with ${response.statusCode}: ${text}`)
    return { id: String(response.headers['x-tallygate-call-id']), inputTokens }
  }

  return {
    url: `http://127.0.0.1:${port}`,
    pepper: PEPPER,
    body: { model: 'gpt-4o-mini', metadata: { input: 1 }, messages: [] },
    pool,
    worker,
    async callUntil(isOver) {
      const calls: AnsweredCall[] = []
      const loop = async () => {
        while (!isOver()) {
          calls.push(await call())
          await delay(20)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, loop))
      return calls
    },
    async counted(calls) {
      const untilMs = performance.now() + COUNTED_WITHIN_MS
      let found: Counted | null = null
      for (;;) {
        const before = found?.ids.length ?? -1
        found = await readCounted(pool).catch(() => null)
        if (found !== null && found.ids.length >= calls.length && found.ids.length === before) return found
        if (performance.now() > untilMs)
          throw new Error(`${found?.ids.length} of ${calls.length} calls were counted in time`)
        await delay(1_000)
      }
    },
    async stop() {
      await Promise.all([gateway.kill(), worker.kill()])
      await agent.close()
      await pool.end()
      await upstream.close()
      await prefix.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function untilAnswering(port: number): Promise<void> {
  const isReady = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null)
    return answer?.ok === true ? true : null
  }
  if ((await until(isReady, { timeoutMs: READY_WITHIN_MS, everyMs: 50 })) === null)
    throw new Error('the gateway does not get ready')
}

async function readCounted(pool: Postgres): Promise<Counted> {
  const calls = await pool.query<{ call_id: string }>('select call_id from tallygate.calls')
  const totals = await pool.query<{ requests: string; input: string; gaps: string }>(
    `select coalesce(sum(requests), 0) as requests, coalesce(sum(input_tokens), 0) as input,
       (select count(*) from tallygate.ledger_gaps) as gaps from tallygate.daily_usage`,
  )
  const [sums] = totals.rows
  return {
    ids: calls.rows.map((row) => row.call_id),
    requests: Number(sums?.requests),
    inputTokens: Number(sums?.input),
    gaps: Number(sums?.gaps),
  }
}

/** What `counted` says when each of these calls is counted once: nothing lost, nothing doubled. */
export function exactly(calls: readonly AnsweredCall[]): Counted {
  return {
    ids: calls.map(({ id }) => id).sort(),
    requests: calls.length,
    inputTokens: calls.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    gaps: 0,
  }
}
