import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { TOKEN_CLASSES, TOKEN_COLUMNS } from '../../src/call/usage.ts'
import { explainCalls } from '../../src/usage/calls/explain-cost.ts'
import type { ReplayCase } from '../support/replay/replay-cases.ts'
import { type Replayed, replay } from '../support/replay/replay-client.ts'
import { messagesOf, type ReplayUpstream, startReplayUpstream } from '../support/replay/replay-upstream.ts'
import { startStack, type TestStack } from '../support/servers/stack.ts'
import { checkExplained } from './check-explained.ts'

const CONCURRENT = 8

/** Cases that are played through a gateway before a file's tests. */
export interface PlayedCases {
  /** What is wrong with records and with answers, a line each. */
  wrong(): { readonly inexact: readonly string[]; readonly changed: readonly string[] }
  /** What is wrong with how costs are explained, a line each, and how many prices of units were compared. */
  explained(): Promise<{ readonly wrong: readonly string[]; readonly compared: number }>
}

/** Streams whose client asked for usage, once more from a client that did not: the gateway asks, and takes it out. */
export function unaskedOf(cases: readonly ReplayCase[]): readonly ReplayCase[] {
  return cases.filter(asksForUsage).map((asked) => {
    const { stream_options: _, ...request } = asked.request ?? {}
    return { ...asked, id: `${asked.id}, not asked for usage`, request }
  })
}

function asksForUsage({ request }: ReplayCase): boolean {
  return JSON.stringify(request?.stream_options ?? '').includes('"include_usage":true')
}

/** Plays each group of cases, all of them through one gateway, and gives what became of each group. */
export function playGroups<const Groups extends readonly (readonly ReplayCase[])[]>(
  ...groups: Groups
): { readonly [Index in keyof Groups]: PlayedCases } {
  const cases = groups.flat()
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
    answers = await playAll(stack.url, client.key, cases)
    await stack.usageOf(client, cases.length)
    rows = new Map((await stack.calls(client)).map((row) => [`${row.call_id}`, row]))
  })

  afterAll(async () => {
    await stack?.stop()
    await upstream?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const wrongIn = (first: number, group: readonly ReplayCase[]) => ({
    inexact: group
      .map((replayed, index) => {
        const row = rows.get(answers[first + index]?.callId ?? '')
        return row === undefined ? `${replayed.id}: no record` : wrongWithRecord(replayed, row)
      })
      .filter((what) => what !== ''),
    changed: group
      .map((replayed, index) =>
        wrongWithAnswer(replayed, answers[first + index], upstream.asked.get(replayed.id)),
      )
      .filter((what) => what !== ''),
  })
  const explainedIn = async (first: number, group: readonly ReplayCase[]) => {
    const ids = group.map((_, index) => answers[first + index]?.callId ?? '')
    const explained = await Promise.all(ids.map((id) => explainCalls(stack.pool, id)))
    const checked = explained.map((calls) => calls.map(checkExplained))
    return {
      wrong: group.flatMap(({ id }, index) =>
        (checked[index] ?? []).flatMap(({ problems }) => problems.map((problem) => `${id}: ${problem}`)),
      ),
      compared: checked.flat().reduce((sum, { compared }) => sum + compared, 0),
    }
  }
  return groups.map((group, index) => {
    const first = groups.slice(0, index).flat().length
    return { wrong: () => wrongIn(first, group), explained: () => explainedIn(first, group) }
  }) as { readonly [Index in keyof Groups]: PlayedCases }
}

/** Two upstreams for each provider, known by their prefixes: pages of the second have every client's objects in them. */
function yamlOf(providers: ReadonlySet<string>, url: string): string {
  const entries = [...providers].flatMap((provider) =>
    [
      `name: ${provider}, path_prefix: /at-${provider}`,
      `name: all-${provider}, path_prefix: /all-${provider}, objects: shared`,
    ].map((fields) => `  - { ${fields}, url: '${url}', provider: ${provider} }\n`),
  )
  // What makes a credential is refused by default, and is to be played too.
  return `paths: { allow: ['* **/realtime/client_secrets'] }\nupstreams:\n${entries.join('')}`
}

async function playAll(url: string, key: string, cases: readonly ReplayCase[]): Promise<readonly Replayed[]> {
  const got: Replayed[] = []
  const turns = [...cases.entries()]
  const play = async () => {
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
      const [number, replayed] = turn
      const prefix = replayed.listsObjects ? 'all' : 'at'
      got[number] = await replay(`${url}/${prefix}-${replayed.provider}`, key, number, replayed)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, play))
  return got
}

/** What the client must get: the body, less the usage that is there only because the gateway asked for it. */
function bytesForClient(replayed: ReplayCase, asked: Buffer | undefined): Buffer {
  if (replayed.webSocket)
    return Buffer.from(
      messagesOf(replayed)
        .map((message) => `${message}\n`)
        .join(''),
    )
  const gatewayAsked = !asksForUsage(replayed) && asked?.includes('"include_usage":true') === true
  return gatewayAsked && replayed.status === 200 ? withoutAskedUsage(replayed.body) : replayed.body
}

function withoutAskedUsage(body: Buffer): Buffer {
  const events = body.toString('latin1').match(/[\s\S]+?(?:\r\n\r\n|\n\n|\r\r|$)/g) ?? []
  const kept = events.filter((event) => !isUsageEvent(event)).map(withoutNullUsage)
  return Buffer.from(kept.join(''), 'latin1')
}

/** A chunk as its upstream sends it to who does not ask for usage. */
export function withoutNullUsage(event: string): string {
  return event.replace(/, ?"usage": ?null/, '')
}

function isUsageEvent(event: string): boolean {
  try {
    const data = [...event.matchAll(/^(?:\xef\xbb\xbf)?data: ?(.*)/gm)].map(([, line]) => line)
    const chunk: unknown = JSON.parse(data.join('\n'))
    if (typeof chunk !== 'object' || chunk === null) return false
    const { choices, usage }: { choices?: unknown; usage?: unknown } = chunk
    return Array.isArray(choices) && choices.length === 0 && typeof usage === 'object' && usage !== null
  } catch {
    return false
  }
}

/** What is wrong with the answer that the client got; '' when nothing is. */
function wrongWithAnswer(
  replayed: ReplayCase,
  answer: Replayed | undefined,
  asked: Buffer | undefined,
): string {
  if (answer === undefined) return `${replayed.id}: no answer`
  if (answer.status !== replayed.status) return `${replayed.id}: status ${answer.status}`
  if (!answer.body.equals(bytesForClient(replayed, asked)))
    return `${replayed.id}: ${answer.body.length} other bytes`
  if (replayed.webSocket) return ''
  for (const [name, value] of Object.entries(replayed.headers)) {
    if (String(answer.headers[name]) !== String(value))
      return `${replayed.id}: ${name} ${answer.headers[name]}`
  }
  return ''
}

/** What is wrong with the record of the call; '' when nothing is. */
function wrongWithRecord(
  { id, status, expected }: ReplayCase,
  row: Readonly<Record<string, unknown>>,
): string {
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
