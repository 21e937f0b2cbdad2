import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import type { Environment } from '../../src/config/config.ts'
import { addDays } from '../../src/domain/utc-day.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import { verify } from '../../workers/verify.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { json, run, uncheckedJson } from './command-line.ts'

const TODAY = holdClockAtNoon()

let ledger: LedgerDatabase
let env: Environment

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  env = { DATABASE_URL: ledger.url }
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  await emptyTables(ledger.pool, [
    'daily_usage',
    'daily_latency',
    'call_rows',
    'producers',
    'prices',
    'adjustments',
    'adjustment_entries',
    'repricing_rules',
    'ledger_gaps',
    'dead_letters',
  ])
})

const catalog = buildCatalog()

/** A call of gpt-4o with its right cost; of `hue` depends everything that totals look at. */
function aCall(hue: number): CallRecord {
  const usage = { ...NO_USAGE, inputTokens: 100 + hue, cacheReadTokens: hue % 50, outputTokens: hue % 7 }
  const arrivedAtMs = Date.now() - (hue % 3) * 86_400_000
  const source = (['reported', 'partial', 'estimated', 'none', 'invalid'] as const)[hue % 5] ?? 'none'
  const base = aRecord({
    arrivedAtMs,
    clientId: `cli_${hue % 4}`,
    keyId: `key_${hue % 6}`,
    usageSource: source,
    outcome: hue % 11 === 0 ? 'upstream_error' : 'complete',
    status: hue % 13 === 0 ? 429 : hue % 17 === 0 ? null : 200,
    failedInBody: hue % 19 === 0,
    webSocket: hue % 23 === 0,
    latencyUs: hue % 9 === 0 ? null : hue * 977,
  })
  if (source === 'invalid') return { ...base, usage: NO_USAGE, costPico: null, priceId: null }
  if (source === 'none') {
    const reporting = { ...base, usage: NO_USAGE, priceId: null }
    const unpricedReason = (['no_reader', 'no_figures', 'billed_later', undefined] as const)[hue % 4]
    return unpricedReason === undefined
      ? { ...reporting, costPico: '0' }
      : { ...reporting, costPico: null, unpricedReason }
  }
  const cost = catalog.priceCall({
    provider: 'openai',
    upstream: 'openai',
    clientName: null,
    model: 'gpt-4o',
    requestedModel: null,
    usage,
    units: NO_UNITS,
    serviceTier: hue % 2 === 0 ? null : hue % 3 === 0 ? 'flex' : 'priority',
    arrivedAtMs,
    reportedCostPico: null,
    parts: null,
  })
  if (cost.kind === 'unpriced') {
    const { reason, tier } = cost
    if (tier === undefined) throw new Error(reason)
    return { ...base, usage, costPico: null, priceId: tier.id, price: tier.json, unpricedReason: reason }
  }
  return { ...base, usage, costPico: `${cost.costPico}`, priceId: cost.priceId, price: cost.price.json }
}

async function countSome(calls: number): Promise<void> {
  const producer = newProducer()
  const batch = Array.from({ length: calls }, (_, index) => aCandidate(producer, index + 1, aCall(index)))
  for (let start = 0; start < calls; start += 2_000) {
    await ledger.rollUp('test:calls', batch.slice(start, start + 2_000))
  }
}

test('totals that are right have no difference, whatever calls are like', async () => {
  await countSome(3_000)
  const verified = await json(env, 'ledger', 'verify')
  expect(verified).toMatchObject({ ok: true, differences: [], calls: 3_000, requests_by_marks: 3_000 })
  expect((await run(env, 'ledger', 'verify', '--since', TODAY)).out).toMatch(
    /^0 differences: \d+ rows of totals/,
  )
  expect(await json(env, 'ledger', 'rebuild', '--day', TODAY)).toMatchObject({ changed: false })
})

const FALSIFIED = [
  ['cost_pico', `cost_pico = cost_pico + 1`],
  ['requests', `requests = requests + 1`],
  ['input_tokens', `input_tokens = 0`],
  ['unpriced', `unpriced = unpriced + 2`],
  ['adjusted_pico', `adjusted_pico = 12`],
] as const

test.each(FALSIFIED)('a row whose %s was falsified is found, named and repaired', async (column, change) => {
  await countSome(300)
  const { rows } = await ledger.pool.query(
    `update tallygate.daily_usage u set ${change} where ctid = (
       select ctid from tallygate.daily_usage where day = $1 and price_id <> '' limit 1)
     returning client_id, key_id, model, upstream, price_id`,
    [TODAY],
  )
  const found = await run(env, 'ledger', 'verify', '--json')
  expect(found.code).toBe(1)
  const { differences } = JSON.parse(found.out)
  expect(differences).toContainEqual(expect.objectContaining({ ...rows[0], day: TODAY, column }))
  for (const difference of differences) expect(difference).toMatchObject(rows[0])

  expect(await json(env, 'ledger', 'rebuild', '--day', TODAY, '--by', 'ann')).toMatchObject({ rows: 1 })
  expect(await json(env, 'ledger', 'verify')).toMatchObject({ ok: true })
  const { rows: audit } = await ledger.pool.query('select kind, who, scope from tallygate.adjustments')
  expect(audit).toEqual([{ kind: 'rebuild', who: 'ann', scope: { day: TODAY } }])
})

test.each([
  ['was falsified', 'update tallygate.daily_latency set buckets = buckets + 99'],
  ['is missing', 'delete from tallygate.daily_latency'],
  ['has no calls', "update tallygate.daily_latency set model = 'no-such-model'"],
])('a histogram that %s is found, named and repaired', async (_, change) => {
  await countSome(300)
  const { rows } = await ledger.pool.query(
    `${change} where (day, client_id, model) = (
       select day, client_id, model from tallygate.daily_latency where day = $1 order by 2, 3 limit 1)
     returning client_id, model`,
    [TODAY],
  )
  const found = await run(env, 'ledger', 'verify', '--json')
  expect(found.code).toBe(1)
  const { differences } = JSON.parse(found.out)
  expect(differences).toContainEqual(
    expect.objectContaining({ ...rows[0], day: TODAY, column: 'latency_buckets', against: 'calls' }),
  )
  expect(await json(env, 'ledger', 'rebuild', '--day', TODAY, '--by', 'ann')).toMatchObject({ changed: true })
  expect(await json(env, 'ledger', 'verify')).toMatchObject({ ok: true, differences: [] })
})

test('a row that is missing and one without calls are found and repaired', async () => {
  await countSome(300)
  await ledger.pool.query(
    `delete from tallygate.daily_usage where ctid = (
       select ctid from tallygate.daily_usage where day = $1 and price_id <> '' limit 1)`,
    [TODAY],
  )
  await ledger.pool.query(
    `insert into tallygate.daily_usage select (u).* from (
       select jsonb_populate_record(u, '{"client_id":"cli_ghost"}') as u
       from tallygate.daily_usage u where day = $1 limit 1) r`,
    [TODAY],
  )
  const { out } = await run(env, 'ledger', 'verify')
  expect(out).toMatch(/cli_ghost .* requests +\d+ +no call +its calls/)
  expect(out).toMatch(/requests +no row +\d+ +its calls/)
  await json(env, 'ledger', 'rebuild', '--day', TODAY)
  expect(await json(env, 'ledger', 'verify')).toMatchObject({ ok: true, differences: [] })
})

test('a cost that is not what its price makes of its counts is found, in the call as in the row', async () => {
  await countSome(50)
  await ledger.pool.query(
    `update tallygate.daily_usage set cost_pico = cost_pico + 5 where client_id = 'cli_1' and cost_pico > 0`,
  )
  await ledger.pool.query(
    `update tallygate.call_rows r set cost_pico = cost_pico + 5 from tallygate.call_kinds k
     where k.day = r.day and k.kind = r.kind and k.client_id = 'cli_1' and cost_pico > 0`,
  )
  const { code, out } = await run(env, 'ledger', 'verify', '--json')
  expect(code).toBe(1)
  const ofPrice = JSON.parse(out).differences.filter(
    (found: { against: string }) => found.against === 'price',
  )
  expect(ofPrice.length).toBeGreaterThan(0)
  for (const found of ofPrice) expect(found).toMatchObject({ client_id: 'cli_1', column: 'cost_pico' })
})

test('days whose calls are not all kept are not taken for false, and not rebuilt', async () => {
  await countSome(300)
  await ledger.pool.query(
    `delete from tallygate.call_rows r using tallygate.call_kinds k
     where r.day = $1 and k.day = r.day and k.kind = r.kind and k.client_id = 'cli_0'`,
    [TODAY],
  )
  expect(await json(env, 'ledger', 'verify')).toMatchObject({ ok: true, days_incomplete: [TODAY] })
  expect((await run(env, 'ledger', 'rebuild', '--day', TODAY)).err).toContain('nothing is changed')
  const gone = await run(env, 'ledger', 'rebuild', '--day', addDays(TODAY, -400))
  expect(gone).toMatchObject({ code: 1, err: expect.stringContaining('are not kept') })
})

/** Counts one call of that day. */
async function countOn(day: string): Promise<void> {
  const record = { ...aCall(1), arrivedAtMs: Date.parse(`${day}T12:00:00Z`) }
  await ledger.rollUp('test:calls', [aCandidate(newProducer(), 1, record)])
}

test('totals of days without calls are named as not checked, and make no difference', async () => {
  const [ahead, behind] = [addDays(TODAY, 400), addDays(TODAY, -800)]
  await countSome(30)
  await countOn(ahead)
  await countOn(behind)
  expect(await json(env, 'ledger', 'verify')).toMatchObject({
    ok: true,
    days_not_checked: [behind, ahead].map((day) => ({ day, requests: 1, calls: 0 })),
    days_incomplete: [ahead],
  })
  const { out } = await run(env, 'ledger', 'verify')
  expect(out).toContain(`Not checked: not all calls are kept of ${ahead} (0 calls for 1 requests).`)
  expect(out).toContain(`Not checked: 1 requests of 1 days, ${behind} to ${behind}: calls are kept from `)
})

test('where no call is kept, verify says so and ends with 3, or with 1 where something differs', async () => {
  expect(await json(env, 'ledger', 'verify')).toMatchObject({ ok: true, days_not_checked: [] })
  await countOn(addDays(TODAY, -400))
  expect(await uncheckedJson(env, 'ledger', 'verify')).toMatchObject({ ok: true, calls: 0 })
  await ledger.pool.query('update tallygate.daily_usage set cost_pico = cost_pico + 1')
  expect((await run(env, 'ledger', 'verify')).code).toBe(1)
})

test('requests that the committed offsets count and the totals lack are found', async () => {
  await countSome(30)
  await ledger.pool.query('update tallygate.producers set mark = mark + 3')
  expect((await run(env, 'ledger', 'verify')).out).toContain('say 33 requests in all, the totals have 30')
  await ledger.pool.query(
    `insert into tallygate.ledger_gaps (producer, from_seq, to_seq, reason)
     select id, mark - 2, mark, 'journal_pruned' from tallygate.producers`,
  )
  expect(await json(env, 'ledger', 'verify')).toMatchObject({ ok: true })
})

test('a day is rebuilt while calls are counted, and nothing is lost between', async () => {
  const producers = [newProducer(), newProducer()]
  const counting = producers.map(async (producer, shard) => {
    for (let batch = 0; batch < 25; batch += 1) {
      const entries = Array.from({ length: 8 }, (_, index) =>
        aCandidate(producer, batch * 8 + index + 1, aCall(index * 3)),
      )
      await expect
        .poll(async () => (await ledger.rollUp(`test:${shard}`, entries)).kind, { interval: 1 })
        .toBe('done')
    }
  })
  const rebuilding = (async () => {
    for (let round = 0; round < 15; round += 1) {
      await ledger.pool.query(`update tallygate.daily_usage set input_tokens = 7 where client_id = 'cli_3'`)
      await json(env, 'ledger', 'rebuild', '--day', TODAY)
    }
  })()
  await Promise.all([...counting, rebuilding])
  expect(await json(env, 'ledger', 'verify')).toMatchObject({ ok: true, calls: 400 })
})

test('the nightly audit tells the log what it found', async () => {
  await countSome(30)
  const lines: { level: string; context: object; message: string }[] = []
  const write = (level: string) => (context: object, message: string) =>
    lines.push({ level, context, message })
  const log = { info: write('info'), warn: write('warn'), error: write('error') }
  await verify(ledger.pool, log)
  expect(lines.map(({ level }) => level)).toEqual(['info'])
  await countOn(addDays(TODAY, 400))
  await verify(ledger.pool, log)
  expect(lines).toContainEqual({
    level: 'warn',
    context: expect.objectContaining({ event: 'verify.not_checked', day: addDays(TODAY, 400), requests: 1 }),
    message: expect.any(String),
  })
  await ledger.pool.query(
    `update tallygate.daily_usage set requests = 50 where client_id = 'cli_1' and day = $1`,
    [TODAY],
  )
  await verify(ledger.pool, log)
  expect(lines).toContainEqual({
    level: 'error',
    context: expect.objectContaining({ clientId: 'cli_1', column: 'requests', stored: '50' }),
    message: 'a total differs from what it is made of',
  })
})
