import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { saysItsCost } from '../../src/config/yaml/provider-hosts.ts'
import { loadRecordings } from '../providers/recordings/recordings.ts'
import { type ReplayCase, recordedCases } from '../support/replay/replay-cases.ts'
import { replay } from '../support/replay/replay-client.ts'
import { type ReplayUpstream, startReplayUpstream } from '../support/replay/replay-upstream.ts'
import { startStack, type TestStack } from '../support/servers/stack.ts'

/** Where those providers are called that say in their answers what a call cost. */
const HOSTS: Readonly<Record<string, string>> = {
  openrouter: 'openrouter.ai',
  xai: 'api.x.ai',
  perplexity: 'api.perplexity.ai',
  'vercel-gateway': 'ai-gateway.vercel.sh',
}

/** A router's answers that were recorded under another provider's name, which says no costs: they are not believed. */
const NOT_THEIRS: ReadonlySet<string> = new Set([
  'openai-chat-completions-stream-09-usage-on-content-chunk-cost',
  'openai-chat-completions-stream-10-usage-on-content-chunk-cost',
])

/** Where our own prices are more than a hundredth off what the provider said, and why. */
const OTHERWISE_PRICED: Readonly<Record<string, string>> = {
  'openrouter-chat-completions-stream-06-reasoning-sse-comments':
    'recorded in November 2025: the router has changed its price since',
  'openrouter-chat-completions-sync-01-audio-in-cost': 'no list says what sound costs at the router',
}

interface SaidCost {
  readonly replayed: ReplayCase
  /** US dollars. */
  readonly usd: number
}

const bodies = new Map(loadRecordings().map(({ id, body }) => [id, body.toString('utf8')]))
const said: readonly SaidCost[] = recordedCases().flatMap((replayed) => {
  const usd = costIn(bodies.get(replayed.id) ?? '')
  return usd === null || usd === 0 || NOT_THEIRS.has(replayed.id) ? [] : [{ replayed, usd }]
})

let folder: string
let upstream: ReplayUpstream
let stack: TestStack
let rows: readonly (Readonly<Record<string, unknown>> | undefined)[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-costs-'))
  upstream = await startReplayUpstream(said.map(({ replayed }) => replayed))
  const config = join(folder, 'upstreams.yaml')
  const providers = [...new Set(said.map(({ replayed }) => replayed.provider))]
  const entries = providers.map(
    // Believed or not as it is by default at the provider's own host, which cannot be called from here.
    (name) =>
      `  - { name: ${name}, url: '${upstream.url}', provider: ${name}, path_prefix: /at-${name}, trust_reported_cost: ${saysItsCost(HOSTS[name] ?? '')} }\n`,
  )
  await writeFile(config, `upstreams:\n${entries.join('')}`)
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: config } })
  const client = await stack.addClient('replayer')
  const ids: string[] = []
  for (const [number, { replayed }] of said.entries()) {
    ids.push((await replay(`${stack.url}/at-${replayed.provider}`, client.key, number, replayed)).callId)
  }
  await stack.usageOf(client, said.length)
  const byId = new Map((await stack.calls(client)).map((row) => [`${row.call_id}`, row]))
  rows = ids.map((id) => byId.get(id))
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

/** What an answer says last that it cost, in US dollars; `null`: nothing. Not read as the gateway reads it. */
function costIn(body: string): number | null {
  const ticks = [...body.matchAll(/"cost_in_usd_ticks"\s*:\s*([0-9]+)/g)].at(-1)?.[1]
  if (ticks !== undefined) return Number(ticks) * 1e-10
  const dollars = [...body.matchAll(/"(?:total_cost|cost)"\s*:\s*([0-9][0-9.e-]*)/g)].at(-1)?.[1]
  return dollars === undefined ? null : Number(dollars)
}

interface Apart {
  readonly id: string
  readonly usd: number
  /** US dollars; `null`: none. */
  readonly ours: number | null
}

/** Calls whose `column` is more than a hundredth off what the answer said, with both. */
function apart(column: string): readonly Apart[] {
  return said.flatMap(({ replayed: { id }, usd }, index) => {
    const pico = rows[index]?.[column] ?? null
    const ours = pico === null ? null : Number(pico) / 1e12
    return ours !== null && Math.abs(ours - usd) <= usd / 100 ? [] : [{ id, usd, ours }]
  })
}

/** As {@link apart} of our own prices, where there are any. */
function otherwisePriced(): readonly Apart[] {
  return apart('own_cost_pico').filter(({ ours }) => ours !== null)
}

test('what an answer says that it cost is what is recorded, by default', () => {
  expect(apart('reported_cost_pico')).toEqual([])
  expect(apart('cost_pico')).toEqual([])
})

test('our own prices say the same to a hundredth, or nothing, but where it is known why not', () => {
  const unpriced = apart('own_cost_pico').filter(({ ours }) => ours === null)
  const explained = otherwisePriced().filter(({ id }) => OTHERWISE_PRICED[id] !== undefined)
  console.log(
    `${said.length} recordings say their cost, our own prices: ${said.length - otherwisePriced().length - unpriced.length} the same, ${explained.length} another with a reason, ${unpriced.length} none`,
  )
  expect(otherwisePriced().filter(({ id }) => OTHERWISE_PRICED[id] === undefined)).toEqual([])
})

test('no explanation stands for a call that is priced as the provider says', () => {
  const off = new Set(otherwisePriced().map(({ id }) => id))
  const played = new Set(said.map(({ replayed }) => replayed.id))
  expect(Object.keys(OTHERWISE_PRICED).filter((id) => played.has(id) && !off.has(id))).toEqual([])
})
