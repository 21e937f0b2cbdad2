import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { BUNDLED, bundledText } from '#prices/bundled-lists.ts'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { NO_UNITS, NO_USAGE } from '../../../src/call/usage.ts'
import type { Environment } from '../../../src/config/config.ts'
import { addDays, utcDayOf } from '../../../src/domain/utc-day.ts'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../../rollup/records.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'
import { json, run, uncheckedJson } from '../command-line.ts'

/** When calls arrived, where a test does not say otherwise: those of one file are all of one day, whatever the hour. */
const NOW_MS = Date.now()
const TODAY = utcDayOf(NOW_MS)
const STREAM = 'test:calls'

let ledger: LedgerDatabase
let folder: string
let env: Environment
let producer: string
let sequence: number

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-reprice-'))
})
afterAll(async () => {
  await ledger.drop()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  producer = newProducer()
  sequence = 0
  env = {
    DATABASE_URL: ledger.url,
    TALLYGATE_CONFIG: join(folder, 'config.yaml'),
    TALLYGATE_DATA_DIR: folder,
  }
  await writePrices([])
  await emptyTables(ledger.pool, [
    'daily_usage',
    'daily_latency',
    'call_rows',
    'producers',
    'prices',
    'adjustments',
    'adjustment_entries',
    'repricing_rules',
    'catalogs',
    'clients',
  ])
})

async function writePrices(lines: readonly string[], others: readonly string[] = []): Promise<void> {
  const upstreams = [
    'upstreams:',
    '  - { name: openai, url: "https://api.openai.com" }',
    '  - { name: deepseek, url: "https://api.deepseek.com" }',
    '  - { name: gemini, url: "https://generativelanguage.googleapis.com" }',
  ]
  const prices = lines.length === 0 ? [] : ['prices:', ...lines.map((line) => `  - ${line}`)]
  await writeFile(join(folder, 'config.yaml'), [...upstreams, ...prices, ...others].join('\n'))
}

async function count(...records: readonly CallRecord[]): Promise<void> {
  const batch = records.map((record) => aCandidate(producer, ++sequence, record))
  for (let start = 0; start < batch.length; start += 2_000) {
    await ledger.rollUp(STREAM, batch.slice(start, start + 2_000))
  }
}

/** A call as a gateway with no price for its model records it. */
function unpriced(changes: Partial<CallRecord> = {}): CallRecord {
  return aRecord({
    model: 'our-model',
    reportedModel: 'our-model',
    requestedModel: 'our-model',
    costPico: null,
    priceId: null,
    arrivedAtMs: NOW_MS,
    ...changes,
  })
}

/** A call as a gateway with the package's prices records it. */
function priced(changes: Partial<CallRecord>): CallRecord {
  const record = aRecord({ requestedModel: null, arrivedAtMs: NOW_MS, ...changes })
  const cost = buildCatalog().priceCall({
    provider: record.provider,
    upstream: record.upstream,
    clientName: null,
    model: record.reportedModel,
    requestedModel: record.requestedModel,
    usage: record.usage,
    units: record.units,
    serviceTier: null,
    arrivedAtMs: record.arrivedAtMs,
    reportedCostPico: null,
    parts: null,
  })
  if (cost.kind === 'unpriced') throw new Error(cost.reason)
  return { ...record, costPico: `${cost.costPico}`, priceId: cost.priceId, price: cost.price.json }
}

async function sums() {
  const { rows } = await ledger.pool.query(
    `select coalesce(sum(cost_pico), 0) as metered, coalesce(sum(adjusted_pico), 0) as adjusted,
       coalesce(sum(unpriced), 0)::int as unpriced, coalesce(sum(priced_later), 0)::int as "pricedLater"
     from tallygate.daily_usage`,
  )
  const [row] = rows
  return { ...row, metered: BigInt(row.metered), adjusted: BigInt(row.adjusted) }
}

test('calls that reported no figures stay without a cost, with single calls and without', async () => {
  const silent = (unpricedReason: string) =>
    unpriced({ usageSource: 'none', usage: NO_USAGE, usageRaw: null, unpricedReason })
  for (const keepsCalls of [true, false]) {
    await emptyTables(ledger.pool, ['daily_usage', 'call_rows', 'adjustment_entries'])
    await count(
      unpriced({ unpricedReason: 'no_price' }),
      silent('no_reader'),
      silent('no_figures'),
      silent('billed_later'),
      unpriced({ unpricedReason: 'no_price' }),
    )
    if (!keepsCalls) await emptyTables(ledger.pool, ['call_rows'])
    await writePrices(["{ model: our-model, input: '1', output: '1' }"])
    await (keepsCalls ? json : uncheckedJson)(
      env,
      'prices',
      'reprice',
      '--model',
      'our-model',
      '--since',
      TODAY,
    )
    expect(await sums()).toMatchObject({ unpriced: 5, pricedLater: 2, adjusted: 2n * 120n * 1_000_000n })
    const left = (await json(env, 'prices', 'check')) as { calls: number; reason: string | null }[]
    expect(left.reduce((sum, { calls }) => sum + calls, 0)).toBe(3)
    expect(left.map(({ reason }) => reason).sort()).toEqual(
      keepsCalls ? ['billed_later', 'no_figures', 'no_reader'] : [null],
    )
    await emptyTables(ledger.pool, ['repricing_rules', 'adjustments'])
  }
})

test('contradictions between sources are reported for models in use, with what is taken and why', async () => {
  const called = {
    model: 'grok-code-fast-1',
    reportedModel: 'grok-code-fast-1',
    provider: 'xai',
    upstream: 'xai',
  }
  const name = '@cf/zai-org/glm-4.7-flash'
  const glm = { model: name, reportedModel: name, provider: 'cloudflare', upstream: 'cloudflare' }
  await count(priced({ ...called, usage: { ...NO_USAGE, inputTokens: 10 } }), unpriced(glm), unpriced())
  const { contradictions } = (await json(env, 'prices', 'contradictions')) as {
    contradictions: { model: string }[]
  }
  expect(contradictions.find(({ model }) => model === name)).toMatchObject({
    provider: 'cloudflare',
    taken: { price: '0.0605' },
    others: [{ source: expect.stringMatching(/^genai-prices@/), price: '0.06' }],
    why: expect.stringContaining('corrected'),
  })
  const { out } = await run(env, 'prices', 'contradictions', '--all')
  expect(out).toMatch(
    /^cloudflare +@cf\/zai-org\/glm-4\.7-flash +input +0\.0605 \(corrections.* 0\.06 \(genai-prices\)/m,
  )
})

test('what jobs used is priced again, with single calls and without, and what is reported later by the rule', async () => {
  const submitting = (id: string) =>
    aRecord({
      arrivedAtMs: NOW_MS,
      path: '/v1/batches',
      requestedModel: null,
      reportedModel: null,
      model: '(none)',
      usageSource: 'none',
      usage: NO_USAGE,
      costPico: null,
      priceId: null,
      unpricedReason: 'billed_later',
      objects: [{ id, kind: 'batch', is: 'created', job: true }],
    })
  const reporting = (responseId: string) =>
    unpriced({
      method: 'GET',
      requestedModel: null,
      responseId,
      responseUse: 'fetched',
      unpricedReason: 'no_price',
    })
  const each = 100n * 1_000_000n + 20n * 3_000_000n
  for (const keepsCalls of [true, false]) {
    await emptyTables(ledger.pool, [
      'daily_usage',
      'daily_latency',
      'call_rows',
      'adjustments',
      'repricing_rules',
      'responses_seen',
      'objects',
    ])
    await count(submitting('batch_1'), submitting('batch_2'), submitting('batch_3'))
    await count(reporting('batch_1'), reporting('batch_2'))
    expect(await sums()).toMatchObject({ unpriced: 3, adjusted: 0n })
    if (!keepsCalls) await emptyTables(ledger.pool, ['call_rows'])
    await writePrices(["{ model: our-model, input: '1', output: '3' }"])
    await (keepsCalls ? json : uncheckedJson)(
      env,
      'prices',
      'reprice',
      '--model',
      'our-model',
      '--since',
      TODAY,
    )
    expect(await sums()).toMatchObject({ unpriced: 3, pricedLater: 2, adjusted: 2n * each })
    await count(reporting('batch_3'))
    expect(await sums()).toMatchObject({ unpriced: 3, pricedLater: 3, adjusted: 3n * each })
    if (!keepsCalls) continue
    expect(await json(env, 'ledger', 'verify', '--since', TODAY)).toMatchObject({ differences: [] })
  }
})

test('a thousand calls without a price are shown as such, priced exactly later, and then never again', async () => {
  const calls = Array.from({ length: 1_000 }, (_, index) =>
    unpriced({ usage: { ...NO_USAGE, inputTokens: 100 + index, outputTokens: index } }),
  )
  await count(...calls)
  expect(await json(env, 'usage')).toMatchObject({ requests: 1_000, cost_usd: 0 })
  expect((await run(env, 'usage', '--by', 'model')).out).toMatch(/our-model .* 1000 /)
  expect(await json(env, 'prices', 'check')).toMatchObject([
    { model: 'our-model', provider: 'openai', calls: 1_000, first_day: TODAY, has_price_now: false },
  ])
  expect((await run(env, 'doctor')).out).toContain('1000 calls of the last 30 days have no price')

  await writePrices(["{ model: our-model, input: '0.15', output: '0.6' }"])
  expect(await json(env, 'prices', 'check')).toMatchObject([{ calls: 1_000, has_price_now: true }])
  const report = (await run(env, 'doctor')).out
  expect(report).toContain(
    '1000 calls of the last 30 days had no price, and their models have one now: our-model (openai)' +
      ' -> price them: tallygate prices reprice --model NAME --since DAY',
  )
  expect(report).not.toContain('add them to prices')
  expect(report).not.toContain('has a price')
  const order = [
    'prices',
    'reprice',
    '--model',
    'our-model',
    '--since',
    TODAY,
    '--by',
    'ann',
    '--reason',
    'new',
  ]
  const expected = calls.reduce(
    (sum, { usage }) =>
      sum + BigInt(usage.inputTokens ?? 0) * 150_000n + BigInt(usage.outputTokens ?? 0) * 600_000n,
    0n,
  )
  expect(expected).toBe(389_625_000_000n)
  const dry = await json(env, ...order, '--dry-run')
  expect(dry).toMatchObject({ adjustment_id: null, after_usd: '0.389625', changed: true })
  expect(await sums()).toMatchObject({ adjusted: 0n })

  expect(await json(env, ...order)).toMatchObject({
    before_usd: '0',
    after_usd: '0.389625',
    calls: 1_000,
    priced_calls: 1_000,
    still_unpriced: 0,
    left_out: [],
  })
  expect(await sums()).toEqual({ metered: 0n, adjusted: expected, unpriced: 1_000, pricedLater: 1_000 })
  expect(await json(env, 'usage')).toMatchObject({ requests: 1_000, cost_usd: 0.389625 })
  expect(await json(env, 'prices', 'check')).toEqual([])

  expect(await json(env, ...order)).toMatchObject({ changed: false, adjustment_id: null, rows: [] })
  expect(await sums()).toMatchObject({ adjusted: expected })
  const { rows } = await ledger.pool.query(
    'select kind, who, why, before_pico, after_pico from tallygate.adjustments',
  )
  expect(rows).toEqual([
    { kind: 'reprice', who: 'ann', why: 'new', before_pico: '0', after_pico: `${expected}` },
  ])
})

test('calls that come in after a repricing are priced by it as they are counted', async () => {
  await count(unpriced())
  await writePrices(["{ model: our-model, input: '1', output: '2' }"])
  const order = ['prices', 'reprice', '--model', 'our-model', '--since', addDays(TODAY, -3)]
  await json(env, ...order)
  const ofOne = 140_000_000n
  expect(await sums()).toMatchObject({ adjusted: ofOne })

  const twoDaysAgo = NOW_MS - 2 * 86_400_000
  await count(unpriced(), unpriced({ arrivedAtMs: twoDaysAgo }), unpriced({ clientId: 'cli_late' }))
  await count(unpriced({ arrivedAtMs: NOW_MS - 4 * 86_400_000 }), unpriced({ model: 'another' }))
  expect(await sums()).toEqual({ metered: 0n, adjusted: 4n * ofOne, unpriced: 6, pricedLater: 4 })
  expect(await json(env, ...order)).toMatchObject({ changed: false })
  const { rows } = await ledger.pool.query(
    `select sum(pico) as pico, sum(priced_calls)::int as calls from tallygate.adjustment_entries`,
  )
  expect(rows).toEqual([{ pico: `${4n * ofOne}`, calls: 4 }])
})

/** By the database's clock. */
async function lastRuleMadeAtMs(): Promise<number> {
  const { rows } = await ledger.pool.query('select max(made_at) as made_at from tallygate.repricing_rules')
  return rows[0].made_at.getTime()
}

test('calls at a price that was superseded get the new one, those at a later price of another kind do not', async () => {
  await writePrices(["{ model: our-model, input: '1', output: '1' }"])
  const old = yamlPriced('1')
  await count(old, { ...old, callId: randomUUID() })
  await writePrices(["{ model: our-model, input: '3', output: '3' }"])
  const order = ['prices', 'reprice', '--model', 'our-model', '--since', TODAY]
  expect(await json(env, ...order)).toMatchObject({ before_usd: '0.00024', after_usd: '0.00072' })

  await count(yamlPriced('1'), yamlPriced('3'))
  expect(await sums()).toMatchObject({ metered: 720_000_000n, adjusted: 720_000_000n })
  await count(yamlPriced('5', { arrivedAtMs: (await lastRuleMadeAtMs()) + 1_000 }))
  expect(await sums()).toMatchObject({ metered: 1_320_000_000n, adjusted: 720_000_000n })
  await count(yamlPriced('5', { arrivedAtMs: Date.parse(`${TODAY}T00:00:00Z`) }))
  expect((await sums()).adjusted).toBe(480_000_000n)
  // The price returns to what it was: the newest rule decides.
  await writePrices(["{ model: our-model, input: '1', output: '1' }"])
  await json(env, ...order)
  const { metered, adjusted } = await sums()
  expect(metered + adjusted).toBe(6n * 120_000_000n)
  expect(await json(env, ...order)).toMatchObject({ changed: false })
})

/** A call of 120 tokens priced by an entry of the configuration with one price for both kinds. */
function yamlPriced(usd: string, changes: Partial<CallRecord> = {}): CallRecord {
  const record = unpriced(changes)
  const { price, priceId, costPico } = priceBy(usd, record)
  return { ...record, costPico: `${costPico}`, priceId, price: price.json }
}

function priceBy(usd: string, record: CallRecord) {
  const decimal = { digits: BigInt(usd), scale: 0 }
  const cost = buildCatalog({
    overrides: [
      {
        model: 'our-model',
        pattern: { kind: 'exact', name: 'our-model' },
        provider: null,
        upstream: null,
        serviceTier: null,
        from: null,
        prices: new Map([
          ['input', decimal],
          ['output', decimal],
        ]),
        line: 1,
      },
    ],
  }).priceCall({
    provider: record.provider,
    upstream: record.upstream,
    clientName: null,
    model: record.reportedModel,
    requestedModel: record.requestedModel,
    usage: record.usage,
    units: NO_UNITS,
    serviceTier: null,
    arrivedAtMs: record.arrivedAtMs,
    reportedCostPico: null,
    parts: null,
  })
  if (cost.kind === 'unpriced') throw new Error(cost.reason)
  return cost
}

test('a repricing and roll-ups at the same time leave no call in between', async () => {
  await writePrices(["{ model: our-model, input: '1', output: '2' }"])
  const order = ['prices', 'reprice', '--model', 'our-model', '--since', TODAY]
  const producers = [newProducer(), newProducer(), newProducer()]
  const counting = producers.map(async (id, shard) => {
    for (let batch = 0; batch < 20; batch += 1) {
      const entries = Array.from({ length: 10 }, (_, index) =>
        aCandidate(id, batch * 10 + index + 1, unpriced()),
      )
      await expect
        .poll(async () => (await ledger.rollUp(`${STREAM}:${shard}`, entries)).kind, {
          interval: 1,
        })
        .toBe('done')
    }
  })
  const repricing = (async () => {
    for (let round = 0; round < 8; round += 1) await json(env, ...order)
  })()
  await Promise.all([...counting, repricing])
  expect(await sums()).toEqual({
    metered: 0n,
    adjusted: 600n * 140_000_000n,
    unpriced: 600,
    pricedLater: 600,
  })
  expect(await json(env, ...order)).toMatchObject({ changed: false })
})

/** Yesterday, or the Friday before: DeepSeek's peak hours are of weekdays. */
function lastWeekday(): string {
  const isWeekday = (day: string) => ![0, 6].includes(new Date(`${day}T00:00:00Z`).getUTCDay())
  return [1, 2, 3].map((days) => addDays(TODAY, -days)).find(isWeekday) ?? TODAY
}

test('tiers and hours of the new price are taken from the calls where these are kept', async () => {
  const day = lastWeekday()
  const at = (time: string) => Date.parse(`${day}T${time}Z`)
  const ofModel = (model: string, upstream: string) => ({
    model,
    reportedModel: model,
    requestedModel: model,
    upstream,
    provider: upstream,
  })
  const usage = { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 0 }
  const chat = { ...ofModel('deepseek-v4-pro', 'deepseek'), usage }
  const big = ofModel('gemini-2.5-pro', 'gemini')
  await count(
    unpriced({ ...chat, arrivedAtMs: at('02:00:00') }),
    unpriced({ ...chat, arrivedAtMs: at('20:00:00') }),
    unpriced({ ...big, usage: { ...NO_USAGE, inputTokens: 200_000, outputTokens: 0 } }),
    unpriced({ ...big, usage: { ...NO_USAGE, inputTokens: 200_001, outputTokens: 0 } }),
  )
  const since = day
  // 1.32 and 0.66 USD a million by the hour; 1.25 up to 200,000 tokens, 2.5 above.
  expect(await json(env, 'prices', 'reprice', '--model', 'deepseek-v4-pro', '--since', since)).toMatchObject({
    after_usd: '1.98',
  })
  expect(await json(env, 'prices', 'reprice', '--model', 'gemini-2.5-pro', '--since', since)).toMatchObject({
    after_usd: '0.7500025',
  })
})

test('where the calls are gone, one linear price is exact from the sums, and anything else is refused by name', async () => {
  const long = Date.parse(`${addDays(TODAY, -60)}T12:00:00Z`)
  const since = addDays(TODAY, -90)
  await writePrices(["{ model: our-model, input: '0.15', cached_input: '0.0375', output: '0.6' }"])
  const usage = { ...NO_USAGE, inputTokens: 1_000, cacheReadTokens: 400, outputTokens: 7 }
  await count(unpriced({ arrivedAtMs: long, usage }), unpriced({ arrivedAtMs: long, usage }))
  expect((await ledger.counts()).calls).toBe(0)
  expect(
    await uncheckedJson(env, 'prices', 'reprice', '--model', 'our-model', '--since', since),
  ).toMatchObject({
    // 600 plain, 400 cached and 7 generated tokens, twice.
    after_usd: '0.0002184',
    priced_calls: 2,
  })

  const big = {
    model: 'gemini-2.5-pro',
    reportedModel: 'gemini-2.5-pro',
    requestedModel: 'gemini-2.5-pro',
    upstream: 'gemini',
    provider: 'gemini',
  }
  const inputTokens = { ...NO_USAGE, inputTokens: 150_000, outputTokens: 0 }
  await count(unpriced({ ...big, arrivedAtMs: long, usage: inputTokens }))
  const reprice = ['prices', 'reprice', '--model', 'gemini-2.5-pro', '--since', since]
  // A list that was given by hand is known for all days.
  await writeFile(join(folder, 'catalog.json'), bundledText())
  expect(await uncheckedJson(env, ...reprice, '--dry-run')).toMatchObject({ after_usd: '0.1875' })
  await count(
    unpriced({ ...big, arrivedAtMs: long, usage: inputTokens }),
    unpriced({ ...big, usage: inputTokens }),
  )
  const refused = await run(env, ...reprice)
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.err).toContain(`nothing is changed`)
  expect(refused.err).toContain(
    `${addDays(TODAY, -60)} gemini-2.5-pro (2 calls at no price): its price depends on`,
  )
  expect((await sums()).adjusted).toBe(218_400_000n)
  expect(await json(env, ...reprice, '--leave-out')).toMatchObject({
    after_usd: '0.1875',
    still_unpriced: 2,
    left_out: [{ day: addDays(TODAY, -60), calls: 2 }],
  })
  await rm(join(folder, 'catalog.json'))
})

test('calls of a day for which no price is known stay as they are, and are counted', async () => {
  const first = BUNDLED['genai-prices'].day
  const model = { model: 'gpt-4o', reportedModel: 'gpt-4o', requestedModel: 'gpt-4o' }
  const long = Date.parse(`${addDays(first, -40)}T12:00:00Z`)
  const order = ['prices', 'reprice', '--model', 'gpt-4o', '--since', addDays(first, -50)]
  await count(unpriced({ ...model, arrivedAtMs: long }))
  const refused = await run(env, ...order)
  expect([refused.code, refused.err]).toEqual([
    1,
    expect.stringContaining('1 calls stay as they are: no price is known for their day'),
  ])
  await count(unpriced(model))
  expect(await json(env, ...order)).toMatchObject({
    priced_calls: 1,
    without_price_of_day: 1,
    still_unpriced: 1,
  })
  // A price of your own holds for every day.
  await writePrices(["{ model: gpt-4o, input: '2', output: '8' }"])
  expect(await json(env, ...order)).toMatchObject({ priced_calls: 1, without_price_of_day: 0 })
})

test('from the sums of priced rows, their price tells size of prompt and hours', async () => {
  const long = Date.parse(`${addDays(TODAY, -60)}T20:00:00Z`)
  const named = (model: string, upstream: string) => ({
    model,
    reportedModel: model,
    upstream,
    provider: upstream,
  })
  const gemini = named('gemini-2.5-pro', 'gemini')
  const usage = { ...NO_USAGE, inputTokens: 150_000, outputTokens: 10 }
  const over = { ...NO_USAGE, inputTokens: 300_000, outputTokens: 10 }
  await count(
    priced({ ...gemini, arrivedAtMs: long, usage }),
    priced({ ...gemini, arrivedAtMs: long, usage }),
    priced({ ...gemini, arrivedAtMs: long, usage: over }),
    priced({ ...named('deepseek-v4-pro', 'deepseek'), arrivedAtMs: long, usage }),
  )
  const before = (await sums()).metered
  await writePrices([], ['markups:', "  - { factor: '2' }"])
  for (const model of ['gemini-2.5-pro', 'deepseek-v4-pro']) {
    await uncheckedJson(env, 'prices', 'reprice', '--model', model, '--since', addDays(TODAY, -61))
  }
  expect((await sums()).adjusted).toBe(before)
})

test('what an upstream said of its own cost, and what was corrected by hand, stays', async () => {
  await writePrices(["{ model: our-model, input: '1', output: '2' }"])
  const own = { priceId: 'openai/reported.x', price: null, costPico: '5' }
  await count(unpriced(), unpriced({ ...own, clientId: 'cli_b' }))
  await ledger.pool.query("update tallygate.daily_usage set adjusted_pico = 7 where client_id = 'cli_a'")
  const order = ['prices', 'reprice', '--model', 'our-model', '--since', TODAY]
  expect((await run(env, ...order)).err).toContain('the definition of its price is not known')
  expect(await json(env, ...order, '--leave-out')).toMatchObject({ before_usd: '0.000000000012' })
  expect((await sums()).adjusted).toBe(140_000_007n)
  expect(await json(env, ...order, '--leave-out')).toMatchObject({ changed: false })
})

test('a client has its markup, in the past as in calls that come late', async () => {
  await ledger.pool.query("insert into tallygate.clients (id, name, version) values ('cli_a', 'acme', 0)")
  await writePrices(
    ["{ model: our-model, input: '1', output: '2' }"],
    ['markups:', "  - { client: acme, factor: '1.5' }"],
  )
  await count(unpriced(), unpriced({ clientId: 'cli_b' }))
  await json(env, 'prices', 'reprice', '--model', 'our*', '--since', TODAY)
  await count(unpriced(), unpriced({ clientId: 'cli_b' }))
  expect((await sums()).adjusted).toBe(2n * (210_000_000n + 140_000_000n))
})

test('a rule is shown while it is in force, and ended when it is to be', async () => {
  await count(unpriced())
  await writePrices(["{ model: our-model, input: '1', output: '2' }"])
  await json(env, 'prices', 'reprice', '--model', 'our-model', '--since', TODAY, '--by', 'ann')
  const rules = (await json(env, 'prices', 'rules')) as { id: string }[]
  expect(rules).toMatchObject([{ model: 'our-model', since: TODAY, who: 'ann', amount_usd: '0.00014' }])
  expect((await run(env, 'prices', 'rules')).out).toMatch(/our-model +any .* 0\.00014 /)
  await json(env, 'prices', 'end-rule', rules[0]?.id ?? '')
  await count(unpriced())
  expect((await sums()).adjusted).toBe(140_000_000n)
  expect(await json(env, 'prices', 'rules')).toEqual([])
  expect((await run(env, 'prices', 'end-rule', rules[0]?.id ?? '')).err).toContain('in force')
})

test('wrong orders are refused with a clear word, and change nothing', async () => {
  await count(unpriced())
  const reprice = ['prices', 'reprice', '--model', 'our-model', '--since']
  expect(await run(env, ...reprice, TODAY)).toMatchObject({
    code: 1,
    err: expect.stringContaining('our-model has no price now'),
  })
  expect((await run(env, ...reprice, '2026-02-30')).code).toBe(2)
  expect((await run(env, ...reprice, addDays(TODAY, 2))).err).toContain('still to come')
  await writePrices(["{ model: our-model, input: '-1' }", "{ model: our-model, inputs: '1' }"])
  const wrong = await run(env, ...reprice, TODAY)
  expect(wrong.code).toBe(1)
  expect(wrong.err).toMatch(/config.yaml:6: prices: input -1: is negative/)
  expect(wrong.err).toMatch(/config.yaml:7: prices: inputs: is not a field of a price/)
  expect(await sums()).toMatchObject({ adjusted: 0n })
  const { rows } = await ledger.pool.query('select * from tallygate.adjustments')
  expect(rows).toEqual([])
})
