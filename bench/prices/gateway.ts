import { randomBytes } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { loadGatewayConfig } from '../../src/config/config.ts'
import { runGateway } from '../../src/gateway/run-gateway.ts'
import { createClient } from '../../src/keys/clients.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import { createLog } from '../../src/lib/log.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres } from '../../src/store/connection/postgres.ts'
import { startPrivatePostgres, startPrivateRedis } from '../../test/support/servers/servers.ts'
import { stopWithMe } from '../../test/support/stop-with-me.ts'
import { startWorkers } from '../../workers/workers.ts'
import type { Exchange } from './exchange.ts'

/** One call to be made, at an upstream of that provider. */
export interface AskedCall {
  readonly provider: string
  readonly exchange: Exchange
}

/** A row of `calls`, as the driver gives it; `null`: the call left none. */
export type CallRow = Readonly<Record<string, unknown>> | null

const CLIENT = 'bench'
const NUMBER_HEADER = 'x-bench-call'
const CONCURRENT = 16
const ROWS_WITHIN_MS = 120_000

/**
 * Makes the calls through a gateway with its defaults: one upstream for each provider, a server here that
 * answers in its place, a worker, and a private PostgreSQL and Redis.
 *
 * @returns what was recorded of each call, in their order.
 * @throws {Error} when the records do not all come.
 */
export async function askThroughGateway(
  calls: readonly AskedCall[],
  report: (line: string) => void,
): Promise<readonly CallRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-bench-prices-'))
  const end = stopWithMe(folder)
  const log = createLog('silent', 'bench')
  const [postgres, redis, upstream] = await Promise.all([
    startPrivatePostgres(),
    startPrivateRedis(),
    startAnswering(calls),
  ])
  await migrate(postgres.url, log)
  const pepper = randomBytes(16).toString('hex')
  const config = loadGatewayConfig({
    TALLYGATE_CONFIG: await writeUpstreams(folder, calls, upstream.url),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    REDIS_PREFIX: 'bench:',
    KEY_PEPPER: pepper,
    JOURNAL_DIR: join(folder, 'journal'),
    TALLYGATE_DATA_DIR: folder,
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'silent',
    PRICES_REFRESH: 'off',
  })
  const pool = openPostgres(postgres.url, {
    max: 4,
    statementTimeoutMs: 60_000,
    applicationName: 'bench',
    log,
  })
  const gateway = await runGateway(config, log)
  const workers = startWorkers({ ...config, log })
  try {
    await createClient(pool, CLIENT)
    const order = { client: CLIENT, name: 'default', models: null, expiresInSeconds: null }
    const key = (await createClientKey(pool, order, pepper))?.key ?? ''
    const ids = await makeCalls(calls, gateway.address.port, key, report)
    const rows = await rowsOf(pool, ids.filter((id) => id !== null).length)
    return ids.map((id) => (id === null ? null : (rows.get(id) ?? null)))
  } finally {
    await gateway.stop()
    await workers.close()
    await pool.end()
    upstream.close()
    await Promise.all([postgres.stop(), redis.stop()])
    await end.now()
  }
}

async function writeUpstreams(folder: string, calls: readonly AskedCall[], url: string): Promise<string> {
  const file = join(folder, 'tallygate.yaml')
  const providers = [...new Set(calls.map(({ provider }) => provider))]
  const entries = providers.map(
    // The account's objects are only fetched here, never created.
    (provider) =>
      `  - { name: ${provider}, url: '${url}', provider: ${provider}, path_prefix: /${provider}, objects: shared }\n`,
  )
  await writeFile(file, `upstreams:\n${entries.join('')}`)
  return file
}

/** Answers each call with what its exchange says, known by a header that the gateway passes on. */
async function startAnswering(calls: readonly AskedCall[]) {
  const server = createServer(async (incoming, response) => {
    await buffer(incoming).catch(() => null)
    const call = calls[Number(incoming.headers[NUMBER_HEADER] ?? Number.NaN)]
    if (call === undefined) {
      response.writeHead(404).end()
      return
    }
    const { headers, body } = call.exchange.answer
    response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function makeCalls(
  calls: readonly AskedCall[],
  port: number,
  key: string,
  report: (line: string) => void,
): Promise<readonly (string | null)[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENT })
  const ids: (string | null)[] = []
  let next = 0
  const work = async () => {
    while (next < calls.length) {
      const number = next
      next += 1
      const call = calls[number]
      if (call !== undefined) ids[number] = await make(call, number, agent, port, key)
      if (number > 0 && number % 2_500 === 0) report(`${number} of ${calls.length} calls`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, work))
  agent.destroy()
  return ids
}

/** The call's id; `null`: the gateway did not let it pass. */
async function make(
  { provider, exchange }: AskedCall,
  number: number,
  agent: Agent,
  port: number,
  key: string,
): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>()
  const sent = request(
    {
      agent,
      port,
      hostname: '127.0.0.1',
      method: exchange.method,
      path: `/${provider}${exchange.path}`,
      headers: {
        authorization: `Bearer ${key}`,
        [NUMBER_HEADER]: `${number}`,
        ...(exchange.body === null
          ? {}
          : { 'content-type': exchange.contentType, 'content-length': Buffer.byteLength(exchange.body) }),
      },
    },
    (response) => {
      const id = response.headers['x-tallygate-call-id']
      const passed = response.statusCode === 200 && typeof id === 'string'
      response.resume().on('end', () => resolve(passed ? id : null))
    },
  )
  sent.on('error', reject)
  sent.end(exchange.body ?? undefined)
  return await promise
}

/** By call; for a call that reported what an earlier one used, what it reported. */
async function rowsOf(
  pool: ReturnType<typeof openPostgres>,
  wanted: number,
): Promise<ReadonlyMap<string, NonNullable<CallRow>>> {
  const until = performance.now() + ROWS_WITHIN_MS
  while (true) {
    const { rows } = await pool.query<Record<string, unknown>>(`
      select calls.*, prices.definition::json ->> 'source' as price_source,
        prices.definition::json ->> 'provider' as price_provider, prices.definition::json ->> 'model' as price_model
      from tallygate.calls left join tallygate.prices on prices.price_id = calls.price_id`)
    const isReported = (row: NonNullable<CallRow>) => typeof row.told_by === 'string'
    const calls = rows.filter((row) => !isReported(row))
    if (calls.length >= wanted) {
      return new Map(
        [...calls, ...rows.filter(isReported)].map((row) => [`${row.told_by ?? row.call_id}`, row]),
      )
    }
    if (performance.now() > until) throw new Error(`${calls.length} records of ${wanted} calls`)
    await delay(1_000)
  }
}
