import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TOKEN_CLASSES, TOKEN_COLUMNS } from '../../src/call/usage.ts'
import { madeCases, type ReplayCase, recordedCases } from '../support/replay/replay-cases.ts'
import { type Replayed, replay } from '../support/replay/replay-client.ts'
import { messagesOf, type ReplayUpstream, startReplayUpstream } from '../support/replay/replay-upstream.ts'
import { startStack, type TestStack } from '../support/servers/stack.ts'

const CONCURRENT = 8

const recorded = recordedCases()
const made = madeCases()
/** Streams whose client asked for usage, once more from a client that did not: the gateway asks, and takes it out. */
const unasked = recorded.filter(asksForUsage).map(withoutAsking)
const cases: readonly ReplayCase[] = [...recorded, ...unasked, ...made]

let folder: string
let upstream: ReplayUpstream
let stack: TestStack
let answers: readonly Replayed[]
let rows: ReadonlyMap<string, Readonly<Record<string, unknown>>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-replay-'))
  upstream = await startReplayUpstream(cases)
  const config = join(folder, 'upstreams.yaml')
  await writeFile(config, yamlOf(new Set(cases.map(({ provider }) => provider)), upstream.url))
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: config } })
  const client = await stack.addClient('replayer')
  answers = await playAll(client.key)
  await stack.usageOf(client, cases.length)
  rows = new Map((await stack.calls(client)).map((row) => [`${row.call_id}`, row]))
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

/** One upstream for each provider, known by its prefix. */
function yamlOf(providers: ReadonlySet<string>, url: string): string {
  const entries = [...providers].map(
    (provider) =>
      `  - { name: ${provider}, url: '${url}', provider: ${provider}, path_prefix: /at-${provider} }\n`,
  )
  return `upstreams:\n${entries.join('')}`
}

async function playAll(key: string): Promise<readonly Replayed[]> {
  const got: Replayed[] = []
  let next = 0
  const play = async () => {
    while (next < cases.length) {
      const number = next
      next += 1
      const replayed = caseAt(number)
      got[number] = await replay(`${stack.url}/at-${replayed.provider}`, key, number, replayed)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, play))
  return got
}

function caseAt(number: number): ReplayCase {
  const found = cases[number]
  if (found === undefined) throw new RangeError(`no case ${number}`)
  return found
}

function asksForUsage({ request }: ReplayCase): boolean {
  return JSON.stringify(request?.stream_options ?? '').includes('"include_usage":true')
}

function withoutAsking(asked: ReplayCase): ReplayCase {
  const { stream_options: _, ...request } = asked.request ?? {}
  return { ...asked, id: `${asked.id}, not asked for usage`, request }
}

/** What the client must get: the body, less the usage event where the gateway asked for it. */
function bytesForClient(replayed: ReplayCase): Buffer {
  if (replayed.webSocket)
    return Buffer.from(
      messagesOf(replayed)
        .map((message) => `${message}\n`)
        .join(''),
    )
  const asked = upstream.asked.get(replayed.id)?.toString() ?? ''
  const gatewayAsked = !asksForUsage(replayed) && asked.includes('"include_usage":true')
  return gatewayAsked && replayed.status === 200 ? withoutUsageEvent(replayed.body) : replayed.body
}

function withoutUsageEvent(body: Buffer): Buffer {
  const events = body.toString('latin1').match(/[\s\S]+?(?:\r\n\r\n|\n\n|\r\r|$)/g) ?? []
  return Buffer.from(events.filter((event) => !isUsageEvent(event)).join(''), 'latin1')
}

function isUsageEvent(event: string): boolean {
  try {
    const chunk: unknown = JSON.parse(/^data: ?(.*)/m.exec(event)?.[1] ?? '')
    if (typeof chunk !== 'object' || chunk === null) return false
    const { choices, usage }: { choices?: unknown; usage?: unknown } = chunk
    return Array.isArray(choices) && choices.length === 0 && typeof usage === 'object' && usage !== null
  } catch {
    return false
  }
}

/** What is wrong with the answer that the client got; '' when nothing is. */
function wrongWithAnswer(number: number): string {
  const replayed = caseAt(number)
  const answer = answers[number]
  if (answer === undefined) return `${replayed.id}: no answer`
  if (answer.status !== replayed.status) return `${replayed.id}: status ${answer.status}`
  if (!answer.body.equals(bytesForClient(replayed)))
    return `${replayed.id}: ${answer.body.length} other bytes`
  if (replayed.webSocket) return ''
  for (const [name, value] of Object.entries(replayed.headers)) {
    if (String(answer.headers[name]) !== String(value))
      return `${replayed.id}: ${name} ${answer.headers[name]}`
  }
  return ''
}

/** What is wrong with the record of the call; '' when nothing is. */
function wrongWithRecord(number: number): string {
  const { id, status, expected } = caseAt(number)
  const row = rows.get(answers[number]?.callId ?? '')
  if (row === undefined) return `${id}: no record`
  const source = expected.sources.find((word) => word === row.usage_source)
  if (source === undefined) return `${id}: ${row.usage_source}, not ${expected.sources}`
  if (row.status !== status) return `${id}: status ${row.status}`
  if (row.outcome !== 'complete') return `${id}: ${row.outcome}`
  if (expected.model !== null && (row.reported_model ?? row.requested_model) !== expected.model)
    return `${id}: model ${row.reported_model ?? row.requested_model}, not ${expected.model}`
  // What was not reported and is estimated has no expectation beyond its being said so, and no classes.
  const compared = TOKEN_CLASSES.filter(
    (name) => source !== 'estimated' || (name !== 'inputTokens' && name !== 'outputTokens'),
  )
  for (const name of compared) {
    const counted = row[TOKEN_COLUMNS[TOKEN_CLASSES.indexOf(name)] ?? '']
    const count = counted === null ? null : Number(counted)
    if (count !== expected.usage[name]) return `${id}: ${name} ${count}, not ${expected.usage[name]}`
  }
  return ''
}

function wrongAmong(first: number, count: number, wrong: (number: number) => string): readonly string[] {
  return Array.from({ length: count }, (_, index) => wrong(first + index)).filter((what) => what !== '')
}

test('every recorded answer reaches the client byte for byte and its counts reach the record', () => {
  const inexact = wrongAmong(0, recorded.length, wrongWithRecord)
  const changed = wrongAmong(0, recorded.length, wrongWithAnswer)
  if (recorded.length > 0) {
    const exact = recorded.length - inexact.length
    const identical = recorded.length - changed.length
    console.log(`${recorded.length} recordings, ${exact} exact, ${identical} byte-identical`)
  }
  expect({ inexact, changed }).toEqual({ inexact: [], changed: [] })
})

test('a client that did not ask for usage gets the recorded stream less the usage event, counted alike', () => {
  const inexact = wrongAmong(recorded.length, unasked.length, wrongWithRecord)
  const changed = wrongAmong(recorded.length, unasked.length, wrongWithAnswer)
  expect({ inexact, changed }).toEqual({ inexact: [], changed: [] })
})

test('every answer of our own fixtures does so too', () => {
  const first = recorded.length + unasked.length
  const inexact = wrongAmong(first, made.length, wrongWithRecord)
  const changed = wrongAmong(first, made.length, wrongWithAnswer)
  console.log(
    `${made.length} fixtures, ${made.length - inexact.length} exact, ${made.length - changed.length} byte-identical`,
  )
  expect({ inexact, changed }).toEqual({ inexact: [], changed: [] })
})
