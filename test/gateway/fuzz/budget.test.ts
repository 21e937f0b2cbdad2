// @long: four gateways, until a budget is spent in every way
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startStack, type TestStack } from '../../support/servers/stack.ts'
import { numbers } from './numbers.ts'
import { anOrder } from './orders.ts'
import { type Attempt, type Provider, startProvider } from './provider.ts'

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_126)
const GATEWAYS = 4
const LANES = 8
const BUDGET_PICO = 1_000_000_000_000n
/** So many refusals in a row, and nothing that is ordered fits any more. */
const ENOUGH_REFUSALS = 60

let folder: string
let provider: Provider
let stacks: readonly TestStack[]

beforeAll(async () => {
  provider = await startProvider()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-fuzz-'))
  const file = join(folder, 'tallygate.yaml')
  const named = ['anthropic', 'gemini', 'cohere'].map(
    (name) => `  - { name: ${name}, url: '${provider.url}', provider: ${name}, path_prefix: /${name} }\n`,
  )
  await writeFile(
    file,
    `upstreams:\n  - { name: openai, url: '${provider.url}', provider: openai }\n${named.join('')}default_upstream: openai\n`,
  )
  const env = { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file }
  const first = await startStack('', { env })
  const { DATABASE_URL: databaseUrl = '', REDIS_URL: redisUrl = '', REDIS_PREFIX: prefix = '' } = first.env
  const others = Array.from({ length: GATEWAYS - 1 }, () =>
    startStack('', { env: { ...env, REDIS_PREFIX: prefix }, databaseUrl, redisUrl, workers: false }),
  )
  stacks = [first, ...(await Promise.all(others))]
}, 120_000)
afterAll(async () => {
  for (const stack of stacks?.toReversed() ?? []) await stack.stop()
  await provider?.close()
  await rm(folder, { recursive: true, force: true })
})

/** What a client does who wants it for nothing: every order of the fuzzer, left early in every way. */
function anAttempt(number: number): Attempt {
  const random = numbers(SEED + number)
  const order = anOrder(random, number)
  const hows = ['stays', 'ends', 'half-closes', 'resets'] as const
  const how = hows[Math.floor(random() * hows.length)] ?? 'stays'
  const after = Math.floor(random() * (order.pieces.length + 1)) - 1
  return {
    number,
    order,
    leaving: { how, after, protocol: random() < 0.6 ? 'HTTP/1.1' : 'HTTP/2' },
    coding: random() < 0.9 ? 'identity' : 'unreadable',
  }
}

test('of a budget of 1 USD at four gateways no more is spent than what is in flight above it, in whatever way clients leave', async () => {
  const [first] = stacks
  if (first === undefined) throw new Error('no gateway')
  const client = await first.addClient('mallory')
  await setLimits(
    first.pool,
    { clientId: client.id, keyId: null, model: null },
    [{ kind: 'budget', per: 'total', isSoft: false, amount: BUDGET_PICO }],
    'test',
  )
  for (const stack of stacks)
    await expect.poll(async () => (await stack.usage(client, '?include=limits')).limits).toHaveLength(1)
  const attempts: Attempt[] = []
  let refused = 0
  const lane = async (at: number) => {
    while (refused < ENOUGH_REFUSALS) {
      const attempt = anAttempt(attempts.length)
      attempts.push(attempt)
      const stack = stacks[at % GATEWAYS]
      const { status } = await provider.attempt(stack?.url ?? '', client.key, attempt)
      refused = status === 429 ? refused + 1 : 0
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, at) => lane(at)))
  const served = attempts.filter(({ number }) => provider.books.has(number))
  const costs = served.map(({ order }) => order.listPico)
  const spent = costs.reduce((sum, pico) => sum + pico, 0n)
  const dearest = costs.reduce((most, pico) => (pico > most ? pico : most), 0n)
  console.log(
    `${served.length} of ${attempts.length} served, ${spent} of ${BUDGET_PICO}, the dearest ${dearest}`,
  )
  expect(spent).toBeLessThanOrEqual(BUDGET_PICO + BigInt(LANES) * dearest)
  // It was worth the attack: most of the budget is gone.
  expect(spent * 2n).toBeGreaterThan(BUDGET_PICO)
}, 300_000)
