import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { budget, type LimitedClient, type LimitedWorld, startLimitedWorld } from './support/limited-world.ts'
import { costOf, PICO_PER_TOKEN } from './support/origin.ts'
import { seeded } from './support/random.ts'

const SEEDS = Number(process.env.LIMITS_SEEDS ?? 20)
const CALLS = 200
const LIMIT_PICO = 1_000_000_000_000n
/** What gateways reserve for an answer where the request does not bound it: less than most answers have. */
const DEFAULT_OUTPUT_TOKENS = 500
const MAX_TOKENS = 3_000

let world: LimitedWorld
let database: TestDatabase
const clients = new Map<number, LimitedClient>()

beforeAll(async () => {
  database = await createTestDatabase()
  world = await startLimitedWorld({
    gateways: 4,
    redisUrl: inject('redisUrl'),
    databaseUrl: database.url,
    yaml: [`limits: { default_output_tokens: ${DEFAULT_OUTPUT_TOKENS} }`],
  })
  for (let seed = 1; seed <= SEEDS; seed++) {
    clients.set(seed, await world.addClient(`seed ${seed}`, [budget(1)]))
  }
  await world.limitsRead()
})

afterAll(async () => {
  await world?.stop()
  await database?.drop()
})

test.each(
  Array.from({ length: SEEDS }, (_, index) => index + 1),
)('200 calls at once on four gateways spend a budget of one dollar and no more than the formula (seed %i)', async (seed) => {
  const client = clients.get(seed)
  if (client === undefined) throw new Error('no client')
  const random = seeded(seed)
  const isBounded = seed % 2 === 0
  const stream = seed % 4 >= 2
  const orders = Array.from({ length: CALLS }, () => ({
    gateway: Math.floor(random() * 4),
    outputTokens: 500 + Math.floor(random() * 2_500),
    ms: Math.floor(random() * 60),
    stream,
    ...(isBounded ? { maxTokens: MAX_TOKENS } : {}),
  }))
  const answers = await Promise.all(
    orders.map(async (order) => ({ order, answer: await world.call(client, order) })),
  )
  const served = answers.filter(({ answer }) => answer.status === 200)
  const refused = answers.filter(({ answer }) => answer.status !== 200)
  const costs = served.map(({ order }) => costOf(order.outputTokens))
  const spent = costs.reduce((sum, cost) => sum + cost, 0n)

  // The cost of one call, and what calls in flight cost above their estimates: here at most all that were served.
  const reserved = BigInt(isBounded ? MAX_TOKENS : DEFAULT_OUTPUT_TOKENS) * PICO_PER_TOKEN
  const dearest = costs.reduce((most, cost) => (cost > most ? cost : most), 0n)
  const above = costs.reduce((sum, cost) => sum + (cost > reserved ? cost - reserved : 0n), 0n)
  const formula = LIMIT_PICO + dearest + (isBounded ? 0n : above)
  console.log(
    `seed ${seed}, ${isBounded ? 'bounded' : 'unbounded'}, ${stream ? 'streamed' : 'whole'}: ` +
      `admitted ${served.length}, refused ${refused.length}, spent ${usd(spent)}, formula ${usd(formula)}`,
  )
  expect(spent).toBeLessThanOrEqual(formula)
  expect(spent).toBeGreaterThan(0n)

  for (const { answer } of refused) {
    expect(answer.status).toBe(429)
    if (answer.code === 'rate_limit_exceeded') {
      // Running calls hold the rest: it may be tried again.
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      continue
    }
    expect(answer.code).toBe('budget_exceeded')
    expect(answer.headers.get('x-should-retry')).toBe('false')
    const named = figureIn(answer.message)
    // As of the refusal: no less than the budget, and no more than all that was ever served.
    expect(named).toBeGreaterThanOrEqual(LIMIT_PICO)
    expect(named).toBeLessThanOrEqual(spent)
  }

  // Until it is spent: what runs alone goes, however little is left.
  let total = spent
  for (let tries = 0; total < LIMIT_PICO && tries < 400; tries++) {
    const order = { gateway: tries % 4, outputTokens: 1_000, ...(isBounded ? { maxTokens: MAX_TOKENS } : {}) }
    if ((await world.call(client, order)).status === 200) total += costOf(1_000)
  }
  expect(total).toBeGreaterThanOrEqual(LIMIT_PICO)
  await expect.poll(async () => pico((await world.usage(client)).cost_usd)).toBe(total)
  for (const gateway of [0, 1, 2, 3]) {
    const said = async () => {
      const { status, code, message } = await world.call(client, { gateway, outputTokens: 1, maxTokens: 1 })
      return { status, code, spent: figureIn(message) }
    }
    await expect.poll(said).toEqual({ status: 429, code: 'budget_exceeded', spent: total })
    expect(pico((await world.usage(client, gateway)).cost_usd)).toBe(total)
  }
})

const usd = (amount: bigint) => (Number(amount) / 1e12).toFixed(6)
const pico = (dollars: number) => BigInt(Math.round(dollars * 1e12))

/** What the message says was spent. */
function figureIn(message: string): bigint {
  const [, whole = '0', rest = ''] = /is spent: (\d+)(?:\.(\d+))? USD/.exec(message) ?? []
  return BigInt(`${whole}${rest.padEnd(12, '0')}`)
}
