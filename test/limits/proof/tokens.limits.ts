import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { type LimitedClient, type LimitedWorld, rate, startLimitedWorld } from './support/limited-world.ts'
import { PROMPT_TOKENS } from './support/origin.ts'

/** The full form takes 10 of them: `LIMITS_MINUTES=10 npm run test:limits -- tokens`. */
const MINUTES = Number(process.env.LIMITS_MINUTES ?? 3)
const LIMIT = 30_000
const OUTPUT_TOKENS = 90
const CACHED = 200
const LANES = 6

let world: LimitedWorld
let database: TestDatabase
let all: LimitedClient
let uncached: LimitedClient

beforeAll(async () => {
  database = await createTestDatabase()
  world = await startLimitedWorld({ gateways: 2, redisUrl: inject('redisUrl'), databaseUrl: database.url })
  all = await world.addClient('all', [rate('tokens', LIMIT, true)])
  uncached = await world.addClient('uncached', [rate('tokens', LIMIT, false)])
  await world.limitsRead()
})

afterAll(async () => {
  await world?.stop()
  await database?.drop()
})

test.concurrent.each([
  ['all tokens', () => all, PROMPT_TOKENS + CACHED + OUTPUT_TOKENS],
  ['all but cached tokens', () => uncached, PROMPT_TOKENS + OUTPUT_TOKENS],
] as const)(
  'a client that takes all it gets has its limit of %s a minute within 2 %%',
  async (name, of, each) => {
    const endAt = performance.now() + MINUTES * 60_000
    let served = 0
    let refused = 0
    const lane = async (gateway: number) => {
      while (performance.now() < endAt) {
        const { status } = await world.call(of(), {
          gateway,
          outputTokens: OUTPUT_TOKENS,
          maxTokens: OUTPUT_TOKENS,
          cached: CACHED,
        })
        if (status === 200) served += 1
        else refused += 1
        // It does not wait as long as the answer says: it takes what there is.
        if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
    await Promise.all(Array.from({ length: LANES }, (_, index) => lane(index % 2)))
    const wanted = LIMIT * MINUTES
    const used = served * each
    const percent = (100 * used) / wanted
    console.log(
      `${name}: ${used} tokens in ${MINUTES} minutes, ${percent.toFixed(2)} % of ${wanted}; ${refused} refused`,
    )
    expect(Math.abs(percent - 100)).toBeLessThanOrEqual(2)
  },
  (MINUTES + 2) * 60_000,
)
