import { writeFile } from 'node:fs/promises'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { startStand } from '../stand/stand.ts'
import type { Exchange } from './exchange.ts'

/** One call to be made, at an upstream of that provider. */
export interface AskedCall {
  readonly provider: string
  readonly exchange: Exchange
}

/** A row of `calls`, as the driver gives it; `null`: the call left none. */
export type CallRow = Readonly<Record<string, unknown>> | null

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
  const upstream = await startAnswering(calls)
  const stand = await startStand({ name: 'prices', durable: false })
  const config = await writeUpstreams(stand.folder, calls, upstream.url)
  const gateway = await stand.gateway({ env: { TALLYGATE_CONFIG: config } })
  try {
    await Promise.all([gateway, stand.worker()].map((child) => child.start()))
    const { key } = await stand.addClient('bench')
    const ids = await makeCalls(calls, gateway.port, key, report)
    const rows = await rowsOf(stand.pool, ids.filter((id) => id !== null).length)
    return ids.map((id) => (id === null ? null : (rows.get(id) ?? null)))
  } finally {
    upstream.close()
    await stand.stop()
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
async function rowsOf(pool: Postgres, wanted: number): Promise<ReadonlyMap<string, NonNullable<CallRow>>> {
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
