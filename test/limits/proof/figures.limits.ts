import { execFile } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { addCredit } from '../../../src/corrections/adjustments.ts'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { busyness } from '../../support/patience.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { budget, type LimitedClient, type LimitedWorld, startLimitedWorld } from './support/limited-world.ts'
import { costOf, MODEL } from './support/origin.ts'

let world: LimitedWorld
let database: TestDatabase
let client: LimitedClient

beforeAll(async () => {
  database = await createTestDatabase()
  world = await startLimitedWorld({
    gateways: 2,
    redisUrl: inject('redisUrl'),
    databaseUrl: database.url,
  })
  client = await world.addClient('exact', [budget(0.02)])
  await world.limitsRead()
})

afterAll(async () => {
  await world?.stop()
  await database?.drop()
})

const TINY = { outputTokens: 1, maxTokens: 1 } as const

/** What all of them have to say was spent. */
let total = 0n

/**
 * At both gateways, whether the refusal says that `total` was spent, and whether the usage does. A call that is served, as
 * what was spent is not known yet, is of the total.
 */
async function agree(): Promise<boolean[]> {
  const figures: (bigint | null)[] = []
  for (const gateway of [0, 1]) {
    const { message, status } = await world.call(client, { gateway, ...TINY })
    if (status === 200) total += costOf(TINY.outputTokens)
    const [, text] = /is spent: ([\d.]+) USD/.exec(message) ?? []
    figures.push(text === undefined ? null : pico(Number(text)))
    figures.push(pico((await world.usage(client, gateway)).cost_usd))
  }
  return figures.map((figure) => figure === total)
}

const ALL_AGREE = [true, true, true, true]

const pico = (dollars: number) => BigInt(Math.round(dollars * 1e12))

async function spend(calls: number, gateway: number): Promise<bigint> {
  let sum = 0n
  for (let at = 0; at < calls; at++) {
    const { status } = await world.call(client, { gateway, outputTokens: 990, maxTokens: 1_000 })
    if (status === 200) sum += costOf(990)
  }
  return sum
}

test('what a refusal says was spent is what the usage says, at every gateway', async () => {
  total = (await spend(2, 0)) + (await spend(2, 1))
  expect(total).toBe(2n * costOf(990))
  await expect.poll(agree).toEqual(ALL_AGREE)
  // Nothing was served beyond it.
  expect(total).toBe(2n * costOf(990))
})

test('also after a credit that was added, and one that was taken away again', async () => {
  const day = utcDayOf(Date.now())
  const correct = (amount: bigint) =>
    addCredit(world.pool, { clientId: client.id, day, model: null, pico: amount, who: 'test', why: 'a test' })
  await correct(123_456_789n)
  total += 123_456_789n
  const spent = total
  await expect.poll(agree, { timeout: 45_000 * busyness() }).toEqual(ALL_AGREE)
  expect(total).toBe(spent)
})

test('also after a journal came late: its gateway was killed with -9 and starts again', async () => {
  const richer = await world.addClient('late', [budget(0.02)])
  client = richer
  await world.limitsRead()
  const first = await spend(1, 1)
  // The worker stands still, so what gateway 1 recorded is in no total when it dies.
  world.worker.signal('SIGSTOP')
  const second = await spend(1, 1)
  await world.gateways[1]?.kill()
  world.worker.signal('SIGCONT')
  await world.gateways[1]?.start()
  const spent = first + second
  expect(spent).toBe(2n * costOf(990))
  total = spent
  await expect.poll(agree, { timeout: 60_000 * busyness() }).toEqual(ALL_AGREE)
  // What it had not reported when it was killed may be spent again, until its journal is read, and no more.
  expect(total - spent).toBeLessThanOrEqual(second)
})

// Last: calls that come later are priced by its rule as well.
test('also after its model was priced again, at twice the price', async () => {
  const dear = join(await mkdtemp(join(tmpdir(), 'tallygate-test-dear-')), 'tallygate.yaml')
  const text = await readFile(world.env.TALLYGATE_CONFIG ?? '', 'utf8')
  await writeFile(dear, text.replaceAll("'10'", "'20'"))
  const since = utcDayOf(Date.now())
  await promisify(execFile)(
    process.execPath,
    [
      'src/cli/main.ts',
      'prices',
      'reprice',
      '--model',
      MODEL,
      '--since',
      since,
      '--config-differs-on-purpose',
      '--json',
    ],
    { env: { PATH: process.env.PATH, ...world.env, TALLYGATE_CONFIG: dear } },
  )
  total *= 2n
  const spent = total
  await expect.poll(agree, { timeout: 45_000 * busyness() }).toEqual(ALL_AGREE)
  expect(total).toBe(spent)
})
