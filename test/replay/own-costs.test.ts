import { expect, test } from 'vitest'
import { madeResponses } from '../fixtures/made-responses.ts'
import { madeCases } from '../support/replay/replay-cases.ts'
import { HOSTS, playCosts } from './said-costs.ts'

const costs = madeResponses.map(({ expected }) => expected.reportedCostPico ?? 0n)
const said = madeCases().flatMap((replayed, index) => {
  const pico = costs[index] ?? 0n
  return pico === 0n || !(replayed.provider in HOSTS) ? [] : [{ replayed, usd: Number(pico) / 1e12 }]
})
const apart = playCosts(said)

test('what an answer says that it cost is what is recorded, by default', () => {
  const saying = new Set(said.map(({ replayed }) => replayed.provider))
  expect([...saying].sort()).toEqual(['openrouter', 'perplexity', 'vercel-gateway', 'xai'])
  expect(apart('reported_cost_pico')).toEqual([])
  expect(apart('cost_pico')).toEqual([])
})
