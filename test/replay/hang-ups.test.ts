// @long: each recording is hung up on, twice
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, request as httpRequest, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { busyness } from '../support/patience.ts'
import {
  eventsIn,
  type MadeStream,
  makeStream,
  STREAM_FORMATS,
  type StreamFormat,
  tokensIn,
} from '../support/replay/made-streams.ts'
import { rounds } from '../support/rounds.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'

const CLIENTS = rounds({ short: 100, long: 1_000 })
const CONCURRENT = 100
const EVENT_INTERVAL_MS = 10
/** An abort has to be seen upstream within this. */
const ABORT_SEEN_MS = 200
/** Answers with fewer tokens than this prove nothing about a tenth of them. */
const LONG_TOKENS = 150
const CASE_HEADER = 'x-stream-case'

type Departure = 'before headers' | 'after headers' | 'amid' | 'after usage' | 'never'

interface Plan {
  readonly format: StreamFormat
  readonly stream: MadeStream
  readonly departure: Departure
  /** For `amid`: the number of events after which the client leaves. */
  readonly leavesAfterEvents: number
}

interface Visit {
  readonly callId: string | null
  readonly received: string
  /** Monotonic milliseconds; `null`: it stayed. */
  readonly leftAt: number | null
}

/** What the upstream saw of one call. */
interface Sighting {
  readonly arrived: PromiseWithResolvers<void>
  readonly clientLeft: PromiseWithResolvers<void>
  /** Its connection is closed. */
  readonly gone: PromiseWithResolvers<void>
  abortedAt: number | null
}

let folder: string
let server: Server
let url: string
let plans: readonly Plan[]
let seen: Sighting[]
let stack: TestStack | null = null
let mode: 'cancel' | 'drain' = 'cancel'

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-hang-ups-'))
  plans = await Promise.all(Array.from({ length: CLIENTS }, (_, seed) => makePlan(seed)))
  server = createServer(async (request, response) => {
    await buffer(request)
    const number = Number(request.headers[CASE_HEADER])
    const plan = plans[number]
    const sight = seen[number]
    if (plan === undefined || sight === undefined) response.writeHead(404).end()
    else await stream(plan, sight, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const upstreams = STREAM_FORMATS.map(
    ({ provider }) =>
      `  - { name: ${provider}, url: '${url}', provider: ${provider}, path_prefix: /at-${provider} }\n`,
  )
  await writeFile(join(folder, 'upstreams.yaml'), `upstreams:\n${upstreams.join('')}`)
})

afterAll(async () => {
  await stack?.stop()
  server?.closeAllConnections()
  server?.close()
  await rm(folder, { recursive: true, force: true })
})

async function makePlan(seed: number): Promise<Plan> {
  const random = seededRandom(seed + 1)
  const format = STREAM_FORMATS[seed % STREAM_FORMATS.length] ?? STREAM_FORMATS[0]
  const made = await makeStream(format, seed)
  const dice = random()
  const departure: Departure =
    dice < 0.08
      ? 'before headers'
      : dice < 0.14
        ? 'after headers'
        : dice < 0.84
          ? 'amid'
          : dice < 0.94
            ? 'after usage'
            : 'never'
  return {
    format,
    stream: made,
    departure,
    leavesAfterEvents: 1 + Math.floor(random() * (made.eventsUntilUsage - 2)),
  }
}

/**
 * Whether the answer is read to its end without its client: when that is asked for, for the usage after the
 * answer's end, and where Gemini has not reported yet how much it thought.
 */
function readsOn({ provider }: MadeStream, departure: Departure): boolean {
  if (mode === 'drain' || departure === 'after usage') return true
  return provider === 'gemini' && (departure === 'before headers' || departure === 'after headers')
}

/** Answers as planned: it waits where the client is to leave, but never for longer than one that stays allows. */
async function stream(
  { stream: made, departure }: Plan,
  sight: Sighting,
  response: ServerResponse,
): Promise<void> {
  response.on('close', () => {
    if (!response.writableFinished) sight.abortedAt = performance.now()
    sight.gone.resolve()
  })
  sight.arrived.resolve()
  // Where the gateway reads on, the answer goes on without its client; else there is none to give any more.
  const clientGone = readsOn(made, departure) ? sight.clientLeft.promise : sight.gone.promise
  if (departure === 'before headers') await clientGone
  if (response.destroyed) return
  response.writeHead(200, { 'content-type': made.contentType })
  response.flushHeaders()
  if (departure === 'after headers') await clientGone
  for (const [index, event] of made.events.entries()) {
    if (response.destroyed) return
    response.write(event)
    if (index + 1 === made.eventsUntilUsage && departure === 'after usage') await clientGone
    await delay(EVENT_INTERVAL_MS)
  }
  response.end()
}

/** One client, until it has left or has all. */
async function visit(number: number, plan: Plan, key: string, baseUrl: string): Promise<Visit> {
  const sight = seen[number]
  if (sight === undefined) throw new RangeError(`no client ${number}`)
  const { hostname, port } = new URL(baseUrl)
  const { promise, resolve, reject } = Promise.withResolvers<Visit>()
  let callId: string | null = null
  let received = ''
  let left = false
  const leave = () => {
    if (left) return
    left = true
    const leftAt = performance.now()
    request.destroy()
    sight.clientLeft.resolve()
    resolve({ callId, received, leftAt })
  }
  const request = httpRequest(
    {
      hostname,
      port,
      method: 'POST',
      path: `/at-${plan.format.provider}${plan.stream.path}`,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        [CASE_HEADER]: `${number}`,
      },
      agent: false,
    },
    (response) => {
      callId = `${response.headers['x-tallygate-call-id']}`
      response.setEncoding('utf8')
      response.on('error', () => {})
      if (plan.departure === 'after headers') leave()
      response.on('data', (text: string) => {
        received += text
        if (plan.departure === 'amid' && eventCount(received) >= plan.leavesAfterEvents) leave()
        if (plan.departure === 'after usage' && hasAllUntilUsage(plan.stream, received)) leave()
      })
      response.on('end', () => {
        if (!left) resolve({ callId, received, leftAt: null })
      })
    },
  )
  request.on('error', (error) => {
    if (!left) reject(error)
  })
  request.end(JSON.stringify(plan.stream.request))
  if (plan.departure === 'before headers') {
    await sight.arrived.promise
    leave()
  }
  return await promise
}

function eventCount(received: string): number {
  return received.match(/\r\n\r\n|\n\n|\}\n(?!\n)/g)?.length ?? 0
}

function hasAllUntilUsage({ events, eventsUntilUsage, showsUsage }: MadeStream, received: string): boolean {
  // The usage event itself does not reach a client that did not ask for it.
  return eventCount(received) >= eventCount(events.slice(0, eventsUntilUsage).join('')) - (showsUsage ? 0 : 1)
}

interface Outcome {
  readonly number: number
  readonly plan: Plan
  readonly visit: Visit
  readonly sight: Sighting
  readonly row: Readonly<Record<string, unknown>>
}

/** Lets all clients come and go, and gives what was recorded of each. */
async function letThemGo(onAbort: 'cancel' | 'drain'): Promise<readonly Outcome[]> {
  mode = onAbort
  seen = plans.map(() => ({
    arrived: Promise.withResolvers(),
    clientLeft: Promise.withResolvers(),
    gone: Promise.withResolvers(),
    abortedAt: null,
  }))
  const running = await startStack(url, {
    env: { TALLYGATE_CONFIG: join(folder, 'upstreams.yaml'), ON_CLIENT_ABORT: mode },
  })
  stack = running
  // Each is a client of its own with a key of its own, so that a call without headers is known too.
  const clients: TestClient[] = []
  for (let index = 0; index < CONCURRENT; index += 1) clients.push(await running.addClient(`client-${index}`))
  const visits: Visit[] = []
  await Promise.all(
    clients.map(async (client, index) => {
      for (let number = index; number < plans.length; number += CONCURRENT) {
        const plan = plans[number]
        if (plan !== undefined) visits[number] = await visit(number, plan, client.key, running.url)
      }
    }),
  )
  const outcomes: Outcome[] = []
  for (const [index, client] of clients.entries()) {
    await running.usageOf(client, CLIENTS / CONCURRENT)
    const rows = await running.calls(client)
    expect(rows).toHaveLength(CLIENTS / CONCURRENT)
    const left = new Set(rows)
    // Calls that got headers are known by their id; the others are those that are left, each at its provider.
    const numbers = Array.from({ length: CLIENTS / CONCURRENT }, (_, turn) => index + turn * CONCURRENT)
    const knownFirst = numbers.toSorted((a, b) => Number(!visits[a]?.callId) - Number(!visits[b]?.callId))
    for (const number of knownFirst) {
      const [plan, visited, sight] = [plans[number], visits[number], seen[number]]
      if (plan === undefined || visited === undefined || sight === undefined)
        throw new RangeError(`no client ${number}`)
      const row = [...left].find(({ call_id, upstream }) =>
        visited.callId === null ? upstream === plan.format.provider : call_id === visited.callId,
      )
      if (row === undefined) throw new Error(`no record of client ${number}`)
      left.delete(row)
      outcomes.push({ number, plan, visit: visited, sight, row })
    }
  }
  await running.stop()
  stack = null
  return outcomes
}

test('drained calls of clients that hang up are as many records with exactly what upstreams reported', async () => {
  const outcomes = await letThemGo('drain')
  expect(outcomes).toHaveLength(CLIENTS)
  const wrong = outcomes
    .map(({ number, plan, visit: { leftAt }, row }) => ({
      number,
      departure: plan.departure,
      source: row.usage_source,
      outcome: leftAt === null ? row.outcome : row.outcome === 'client_aborted' ? 'complete' : row.outcome,
      inputTokens: Number(row.input_tokens) - plan.stream.inputTokens,
      outputTokens: Number(row.output_tokens) - plan.stream.outputTokens,
    }))
    .filter(
      ({ source, outcome, inputTokens, outputTokens }) =>
        source !== 'reported' || outcome !== 'complete' || inputTokens !== 0 || outputTokens !== 0,
    )
  expect(wrong).toEqual([])
  expect(outcomes.filter(({ sight }) => sight.abortedAt !== null)).toEqual([])
})

test('cancelled calls of clients that hang up are as many records, flagged, within a tenth of what was delivered', async () => {
  const outcomes = await letThemGo('cancel')
  expect(outcomes).toHaveLength(CLIENTS)
  let delivered = 0
  let counted = 0
  let longOnes = 0
  let closeOnes = 0
  const wrong: object[] = []
  const abortMs: number[] = []
  for (const { number, plan, visit: visited, sight, row } of outcomes) {
    const { stream: made, format, departure } = plan
    const outputTokens = Number(row.output_tokens)
    const source = String(row.usage_source)
    const problem = (what: string) => wrong.push({ number, what, departure, source, outputTokens })
    if (visited.leftAt === null) {
      if (source !== 'reported' || outputTokens !== made.outputTokens || row.outcome !== 'complete')
        problem('stayed to the end')
      continue
    }
    // At the usage the answer may have ended before the gateway saw its client leave.
    if (row.outcome !== 'client_aborted' && departure !== 'after usage') problem(`outcome ${row.outcome}`)
    if (sight.abortedAt !== null) abortMs.push(sight.abortedAt - visited.leftAt)
    // The answer may have ended while its client was leaving.
    else if (source !== 'reported') problem('never seen upstream')
    if (row.input_tokens === null || Number(row.input_tokens) === 0) problem('no input')
    if (departure === 'after usage') {
      if (source !== 'reported' || outputTokens !== made.outputTokens) problem('not read to its usage')
      continue
    }
    if (!['estimated', 'partial', 'reported'].includes(source)) problem('not flagged')
    if (source === 'reported') {
      // It passed while the client was leaving.
      if (outputTokens !== made.outputTokens) problem('reported and other')
      continue
    }
    if (departure === 'before headers' && !readsOn(made, departure) && outputTokens !== 0)
      problem('output before headers')
    const text = eventsIn(visited.received)
      .map((event) => format.textOf(event))
      .join('')
    const tokens = await tokensIn(text, format)
    delivered += tokens
    counted += outputTokens
    if (tokens < LONG_TOKENS) continue
    longOnes += 1
    if (Math.abs(outputTokens - tokens) <= tokens / 10) closeOnes += 1
  }
  abortMs.sort((a, b) => a - b)
  const abortMsAt = (share: number) => abortMs[Math.floor(share * (abortMs.length - 1))] ?? Number.NaN
  console.log(
    `${CLIENTS} hang-ups cancelled: ${counted} tokens recorded, ${delivered} delivered; ${closeOnes} of ${longOnes} long ones` +
      ` within 10 %; abort seen upstream after ${abortMsAt(0.5).toFixed(0)} ms (median), ${abortMsAt(0.99).toFixed(0)} ms (99 of 100), ${abortMsAt(1).toFixed(0)} ms (last)`,
  )
  expect(wrong).toEqual([])
  // Gateway, upstream and a hundred clients share one event loop here, so the slowest show the machine's
  // load. test/gateway/clients/client-leaves.test.ts holds every abort against the limit when nothing else
  // runs.
  expect(abortMsAt(0.9)).toBeLessThan(ABORT_SEEN_MS * busyness())
  expect(Math.abs(counted - delivered)).toBeLessThan(delivered / 10)
  expect(longOnes).toBeGreaterThan(CLIENTS / 10)
  expect(closeOnes).toBeGreaterThan(longOnes * 0.95)
})
