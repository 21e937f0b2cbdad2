import { expect, test } from 'vitest'
import { loadRecordings } from '../providers/recordings/recordings.ts'
import { recordedCases } from '../support/replay/replay-cases.ts'
import { type Apart, playCosts, type SaidCost } from './said-costs.ts'

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

const bodies = new Map(loadRecordings().map(({ id, body }) => [id, body.toString('utf8')]))
const said: readonly SaidCost[] = recordedCases().flatMap((replayed) => {
  const usd = costIn(bodies.get(replayed.id) ?? '')
  return usd === null || usd === 0 || NOT_THEIRS.has(replayed.id) ? [] : [{ replayed, usd }]
})

const apart = playCosts(said)

/** What an answer says last that it cost, in US dollars; `null`: nothing. Not read as the gateway reads it. */
function costIn(body: string): number | null {
  const ticks = [...body.matchAll(/"cost_in_usd_ticks"\s*:\s*([0-9]+)/g)].at(-1)?.[1]
  if (ticks !== undefined) return Number(ticks) * 1e-10
  const dollars = [...body.matchAll(/"(?:total_cost|cost)"\s*:\s*([0-9][0-9.e-]*)/g)].at(-1)?.[1]
  return dollars === undefined ? null : Number(dollars)
}

/** Those whose own prices, where there are any, say something else. */
function otherwisePriced(): readonly Apart[] {
  return apart('own_cost_pico').filter(({ ours }) => ours !== null)
}

test('what a recorded answer says that it cost is what is recorded, by default', () => {
  expect(said.length).toBeGreaterThan(0)
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
