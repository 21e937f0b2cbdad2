import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Agent } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/keys/clients.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { patienceMs } from '../support/patience.ts'
import { gatewayProcess, type TestProcess, workerProcess } from '../support/processes.ts'
import { rounds } from '../support/rounds.ts'
import { createTestDatabase, openTestPool, type TestDatabase } from '../support/servers/database.ts'
import { startPrivateRedis, type TestServer } from '../support/servers/servers.ts'
import { startUpstream, type TestUpstream, type UpstreamHandler } from '../support/upstream.ts'

const CALLS = rounds({ short: 300, long: 2_000 })
const FAULTS = rounds({ short: 3, long: 5 })
const AT_ONCE = 50
/** Once all of them were made, until the last fault. */
const AT_ONCE_AFTERWARDS = rounds({ short: 10, long: AT_ONCE })
const CLIENTS = ['north', 'south']
/** Integer pico-USD per token, from the providers' price pages: 0.15/0.60, 2.50/10 and 0.80/4 USD per million. */
const MINI = { model: 'gpt-4o-mini', path: '/openai/v1/chat/completions', input: 150_000n, output: 600_000n }
const MODELS = [
  MINI,
  { model: 'gpt-4o', path: '/openai/v1/chat/completions', input: 2_500_000n, output: 10_000_000n },
  { model: 'claude-3-5-haiku-20241022', path: '/anthropic/v1/messages', input: 800_000n, output: 4_000_000n },
]

/** One call as its client and its upstream saw it. */
interface CallTrace {
  readonly client: string
  readonly model: string
  readonly cost: bigint
  readonly input: number
  readonly output: number
  /** The client has the whole answer. */
  whole: boolean
  callId: string | null
}

let upstream: TestUpstream
let redis: TestServer
let database: TestDatabase
let pool: Postgres
let folder: string
let worker: TestProcess
const keys = new Map<string, string>()
const gateways: { readonly port: number; readonly process: TestProcess }[] = []
const processes: TestProcess[] = []
// Each call uses tokens of its own, so that a call counted as another would show.
let nextCall = 0
const agent = new Agent({ connections: AT_ONCE })

beforeAll(async () => {
  ;[upstream, redis, database] = await Promise.all([
    startUpstream(answer),
    startPrivateRedis({ durable: true }),
    createTestDatabase(),
  ])
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-exactly-once-'))
  const pepper = randomBytes(16).toString('hex')
  pool = openTestPool(database.url)
  for (const client of CLIENTS) {
    await createClient(pool, client)
    const order = { client, name: 'default', models: null, expiresInSeconds: null }
    keys.set(client, (await createClientKey(pool, order, pepper))?.key ?? '')
  }
  const config = join(folder, 'tallygate.yaml')
  await writeFile(
    config,
    `upstreams:
  - { name: openai, url: '${upstream.url}', provider: openai, path_prefix: /openai }
  - { name: anthropic, url: '${upstream.url}', provider: anthropic, path_prefix: /anthropic }
models: [{ id: gpt-4o-mini, owned_by: openai }]
`,
  )
  const env = {
    TALLYGATE_CONFIG: config,
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    KEY_PEPPER: pepper,
    JOURNAL_DIR: join(folder, 'journal'),
    LOG_LEVEL: 'fatal',
  }
  worker = workerProcess('worker', env)
  for (const name of ['gateway A', 'gateway B']) {
    const port = await findFreePort()
    gateways.push({ port, process: gatewayProcess(name, port, env) })
  }
  processes.push(worker, ...gateways.map((gateway) => gateway.process))
  await Promise.all(processes.map((process) => process.start()))
})

afterAll(async () => {
  await Promise.all(processes.map((process) => process.kill()))
  await agent.close()
  await pool?.end()
  await Promise.all([upstream?.close(), redis?.stop(), database?.drop()])
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

const answer: UpstreamHandler = async (request, response) => {
  const asked = JSON.parse(request.body.toString())
  const [input, output] = asked.metadata.tokens
  await delay(Math.random() * 40)
  const isChat = request.url.endsWith('/chat/completions')
  if (asked.stream !== true) {
    const usage = isChat
      ? { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
      : { input_tokens: input, output_tokens: output }
    const text = JSON.stringify({ id: 'x', model: asked.model, choices: [], content: [], usage })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    response.end(text)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const part of isChat ? chatEvents(asked, input, output) : messageEvents(asked, input, output)) {
    response.write(part)
    await delay(Math.random() * 15)
  }
  response.end()
}

function chatEvents(
  asked: { model: string; stream_options?: { include_usage?: boolean } },
  input: number,
  output: number,
) {
  const event = (fields: object) => `data: ${JSON.stringify({ id: 'x', model: asked.model, ...fields })}\n\n`
  const words = ['a', 'b', 'c'].map((content) => event({ choices: [{ index: 0, delta: { content } }] }))
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  const asks = asked.stream_options?.include_usage === true
  return [...words, ...(asks ? [event({ choices: [], usage })] : []), 'data: [DONE]\n\n']
}

function messageEvents(asked: { model: string }, input: number, output: number) {
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
  return [
    event('message_start', {
      message: { model: asked.model, usage: { input_tokens: input, output_tokens: 1 } },
    }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'hello' } }),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: output } }),
    event('message_stop', {}),
  ]
}

async function call(port: number): Promise<CallTrace> {
  const number = nextCall++
  const { model, path, input: inputPrice, output: outputPrice } = MODELS[number % MODELS.length] ?? MINI
  const client = CLIENTS[number % CLIENTS.length] ?? ''
  const input = 1_000 + number
  const output = 1 + (number % 977)
  const cost = BigInt(input) * inputPrice + BigInt(output) * outputPrice
  const trace: CallTrace = { client, model, cost, input, output, whole: false, callId: null }
  const streamed = number % 3 === 1
  try {
    const response = await agent.request({
      origin: `http://127.0.0.1:${port}`,
      path,
      method: 'POST',
      headers: { authorization: `Bearer ${keys.get(client)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream: streamed, metadata: { tokens: [input, output] }, messages: [] }),
    })
    const id = response.headers['x-tallygate-call-id']
    trace.callId = typeof id === 'string' ? id : null
    let text = ''
    for await (const chunk of response.body) {
      text += chunk
      // A client that stops at the last event is content even when the connection is cut behind it.
      if (text.includes('[DONE]') || text.includes('message_stop')) trace.whole = response.statusCode === 200
    }
    trace.whole = response.statusCode === 200
  } catch {
    // The gateway was killed under it.
  }
  return trace
}

/** Makes `count` calls, `AT_ONCE` at a time, over the gateways in turn. */
async function makeCalls(count: number, ports: () => readonly number[]): Promise<readonly CallTrace[]> {
  const traces: CallTrace[] = []
  let left = count
  const loop = async () => {
    while (left > 0) {
      left -= 1
      const targets = ports()
      traces.push(await call(targets[left % targets.length] ?? 0))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, loop))
  return traces
}

interface Row {
  readonly call_id: string
  readonly client: string
  readonly model: string
  readonly input_tokens: string | null
  readonly output_tokens: string | null
  readonly cost_pico: string | null
  readonly outcome: string
}

/**
 * Waits until no call is on its way any more: as many rows as calls went upstream, those of `ids` among them,
 * and no more for a second. The number alone says too little. Rows of calls that a kill kept from the
 * upstream could make up for others that are still in a dead gateway's journal.
 */
async function settledRows(atLeast: number, ids: readonly (string | null)[] = []): Promise<readonly Row[]> {
  const until = performance.now() + patienceMs()
  let before = -1
  let missing: readonly (string | null)[] = []
  while (performance.now() < until) {
    const { rows } = await pool.query<Row>(
      'select call_id, client, model, input_tokens, output_tokens, cost_pico, outcome from tallygate.calls',
    )
    const there = new Set<string | null>(rows.map((row) => row.call_id))
    missing = ids.filter((id) => !there.has(id))
    if (rows.length >= atLeast && missing.length === 0 && rows.length === before) return rows
    before = rows.length
    await delay(1_000)
  }
  throw new Error(`${before} calls of at least ${atLeast} were counted, without ${JSON.stringify(missing)}`)
}

function byClientAndModel(
  of: readonly { client: string; model: string; input: bigint; output: bigint; cost: bigint }[],
) {
  const sums = new Map<string, { requests: number; input: bigint; output: bigint; cost: bigint }>()
  for (const { client, model, input, output, cost } of of) {
    const sum = sums.get(`${client} ${model}`) ?? { requests: 0, input: 0n, output: 0n, cost: 0n }
    sum.requests += 1
    sum.input += input
    sum.output += output
    sum.cost += cost
    sums.set(`${client} ${model}`, sum)
  }
  return Object.fromEntries([...sums].sort(([a], [b]) => a.localeCompare(b)))
}

const fromTrace = ({ client, model, input, output, cost }: CallTrace) => ({
  client,
  model,
  input: BigInt(input),
  output: BigInt(output),
  cost,
})

const fromRow = ({ client, model, input_tokens, output_tokens, cost_pico }: Row) => ({
  client,
  model,
  input: BigInt(input_tokens ?? 0),
  output: BigInt(output_tokens ?? 0),
  cost: BigInt(cost_pico ?? 0),
})

async function dailyTotals() {
  const { rows } = await pool.query(
    `select c.name as client, u.model, sum(u.requests) as requests, sum(u.input_tokens) as input,
       sum(u.output_tokens) as output, sum(u.cost_pico) as cost
     from tallygate.daily_usage u join tallygate.clients c on c.id = u.client_id group by c.name, u.model`,
  )
  return Object.fromEntries(
    rows
      .map((row) => [
        `${row.client} ${row.model}`,
        {
          requests: Number(row.requests),
          input: BigInt(row.input),
          output: BigInt(row.output),
          cost: BigInt(row.cost),
        },
      ])
      .sort(([a], [b]) => String(a).localeCompare(String(b))),
  )
}

test('hundreds of calls, 50 at a time, are counted to the unit, model by model', async () => {
  const [first] = gateways
  const traces = await makeCalls(CALLS, () => [first?.port ?? 0])
  expect(traces.filter(({ whole }) => !whole)).toEqual([])
  const rows = await settledRows(CALLS)
  expect(rows.length).toBe(CALLS)
  expect(upstream.requests.length).toBe(CALLS)
  const expected = byClientAndModel(traces.map(fromTrace))
  expect(byClientAndModel(rows.map(fromRow))).toEqual(expected)
  expect(await dailyTotals()).toEqual(expected)
})

test('every call counts once while gateways and worker are killed, Redis is flushed and restarted, and a dead gateway stays down', async () => {
  const rowsBefore = new Set((await settledRows(CALLS)).map((row) => row.call_id))
  const requestsBefore = upstream.requests.length
  const [a, b] = gateways
  if (a === undefined || b === undefined) throw new Error('two gateways were started')

  let running = true
  const faults = (async () => {
    for (let round = 0; round < FAULTS; round += 1) {
      await delay(400)
      await a.process.kill()
      await delay(100)
      await a.process.start()
      await worker.kill()
      await delay(200)
      await worker.start()
      if (round === 1 || round === 3) {
        const flusher = new Redis(redis.url)
        await flusher.flushall()
        flusher.disconnect()
      }
      if (round === 2) {
        await redis.kill()
        await delay(300)
        await redis.start()
      }
    }
    // It stays down: what its journal holds is the other one's to ship.
    await delay(300)
    await a.process.kill()
    running = false
  })()
  const traces: CallTrace[] = [...(await makeCalls(CALLS, () => [a.port, b.port]))]
  while (running) traces.push(...(await makeCalls(AT_ONCE_AFTERWARDS, () => [a.port, b.port])))
  await faults

  const whole = traces.filter((trace) => trace.whole)
  const requests = upstream.requests.length - requestsBefore
  const ids = whole.map(({ callId }) => callId)
  const settled = await settledRows(rowsBefore.size + requests, ids)
  const rows = settled.filter((row) => !rowsBefore.has(row.call_id))
  const byId = new Map(rows.map((row) => [row.call_id, row]))

  // Every call whose client has a whole answer is there, once, to the unit.
  expect(whole.length).toBeGreaterThan(CALLS / 2)
  const counted = whole.map((trace) => byId.get(trace.callId ?? ''))
  expect(counted.filter((row) => row === undefined)).toEqual([])
  expect(byClientAndModel(counted.flatMap((row) => (row === undefined ? [] : [fromRow(row)])))).toEqual(
    byClientAndModel(whole.map(fromTrace)),
  )
  // Whatever reached the upstream is there; a kill between the journal and the socket may leave one more, flagged.
  expect(rows.length).toBeGreaterThanOrEqual(requests)
  expect(rows.length).toBeLessThanOrEqual(traces.length)
  const wholeIds = new Set(whole.map(({ callId }) => callId))
  const cut = rows.filter((row) => !wholeIds.has(row.call_id))
  expect(cut.length).toBeGreaterThan(0)
  expect(rows.filter(({ outcome }) => outcome === 'interrupted').length).toBeGreaterThan(0)
  // The totals are the calls, no more and no less.
  const { rows: all } = await pool.query<Row>(
    'select client, model, input_tokens, output_tokens, cost_pico from tallygate.calls',
  )
  expect(await dailyTotals()).toEqual(byClientAndModel(all.map(fromRow)))
})
