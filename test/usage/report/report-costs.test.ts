import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { NO_USAGE } from '../../../src/call/usage.ts'
import { addCredit } from '../../../src/corrections/adjustments.ts'
import { selectOwnUse } from '../../../src/corrections/invoices/match/own-use.ts'
import { reprice } from '../../../src/corrections/reprice.ts'
import { parseUsdText, picoToUsdText } from '../../../src/domain/pico-usd.ts'
import { buildLinearPrice, buildReportedPrice } from '../../../src/pricing/price.ts'
import { inSnapshot } from '../../../src/store/connection/postgres.ts'
import { explainCosts, findReceipt } from '../../../src/usage/calls/explain-cost.ts'
import { json, run } from '../../cli/command-line.ts'
import { orderTo } from '../../corrections/repricing-order.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../../rollup/records.ts'

/** 1 and 2 USD a million at list, with 20 % on top for the client. */
const MARKED = buildLinearPrice({
  ...{ basis: 'linear', source: 'yaml', provider: 'openai', model: 'our-model', from: null, context: null },
  ...{ hours: null, serviceTier: null, serviceTierPriced: true, factor: '1.2', variant: null },
  rates: { input: 1_200_000n, output: 2_400_000n },
})
const REPORTED = buildReportedPrice({ basis: 'reported', provider: 'openrouter', factor: '1.1' })
const FIRST = '2026-02-03'
const LATER = '2026-02-10'
const CONTRACT = [
  '--upstream',
  'openai',
  '--model',
  'our-*',
  '--from',
  LATER,
  '--prices',
  'output=1',
  '--factor',
  '0.9',
]
const MONTH = ['--from', '2026-02-01', '--to', '2026-02-28']

let ledger: LedgerDatabase
let env: { readonly DATABASE_URL: string }
/** Of today: single calls of the others are not kept. */
let callId = ''

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  env = { DATABASE_URL: ledger.url }
  const usage = { ...NO_USAGE, inputTokens: 1_000, outputTokens: 100 }
  const call = (day: string, changes: Partial<CallRecord> = {}) =>
    aRecord({
      ...{
        arrivedAtMs: Date.parse(`${day}T10:00:00Z`),
        model: 'our-model',
        reportedModel: 'our-model',
        usage,
      },
      ...{ costPico: '1440000000', priceId: MARKED.id, price: MARKED.json },
      ...changes,
    })
  const unpriced = { costPico: null, priceId: null, price: null, unpricedReason: 'no_price' } as const
  const reported = { costPico: '11', priceId: REPORTED.id, price: REPORTED.json, upstream: 'router' }
  const records = [
    call(FIRST),
    call(LATER),
    call(LATER, unpriced),
    call(LATER, reported),
    call(LATER, reported),
  ]
  const today = { ...call(FIRST), arrivedAtMs: Date.now() }
  callId = today.callId
  records.push(today)
  const producer = newProducer()
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
})
afterAll(() => ledger.drop())

type Costs = Readonly<Record<'list_usd' | 'contracted_usd' | 'billed_usd', string>>

/** The three costs of all, after a check that rows, the export by FOCUS and own use add up to them. */
async function costs(): Promise<Costs> {
  const { totals, rows } = Object(await json(env, 'report', '--costs', '--by', 'model,upstream', ...MONTH))
  const { out } = await run(env, 'usage', 'export', '--format', 'focus', ...MONTH)
  const [header = '', ...lines] = out.trimEnd().split('\r\n')
  const columns = {
    list_usd: 'ListCost',
    contracted_usd: 'ContractedCost',
    billed_usd: 'BilledCost',
  } as const
  for (const [name, column] of Object.entries(columns)) {
    const place = header.split(',').indexOf(column)
    const sum = (texts: readonly string[]) => texts.reduce((all, text) => all + parseUsdText(text), 0n)
    const inRows = sum(
      rows.map((row: { readonly costs: Readonly<Record<string, string>> }) => row.costs[name]),
    )
    expect(picoToUsdText(inRows), name).toBe(totals.costs[name])
    // Cells with commas are JSON behind the costs, or before them names without any.
    expect(picoToUsdText(sum(lines.map((line) => line.split(',')[place] ?? ''))), column).toBe(
      totals.costs[name],
    )
  }
  // What an invoice is held against is the same, class by class.
  const period = { fromDay: '2026-02-01', toDay: '2026-02-28' }
  const own = await inSnapshot(ledger.pool, (session) => selectOwnUse(session, 'openai', period))
  expect(picoToUsdText(own.reduce((sum, { amountPico }) => sum + amountPico, 0n))).toBe(
    totals.costs.contracted_usd,
  )
  return totals.costs
}

test('what the operator pays follows its contracts and repricings, and what clients pay follows neither contract', async () => {
  // Two calls of 1,000 and 100 tokens, and two that cost 10 pico-dollars before a markup.
  expect(await costs()).toMatchObject({
    list_usd: '0.00240000002',
    contracted_usd: '0.00240000002',
    billed_usd: '0.002880000022',
  })
  const half = Object(await json(env, 'contract', 'set', '--from', LATER, '--factor', '0.5'))
  await json(env, 'contract', 'set', ...CONTRACT)
  // The later call: 1,000 at 0.9, and 100 at 1 in place of 2. Of the router half.
  expect(await costs()).toMatchObject({
    list_usd: '0.00240000002',
    contracted_usd: '0.00220000001',
    billed_usd: '0.002880000022',
  })

  // A credit is the client's alone. Prices of 2 and 4 are now in force, without a markup, for calls without one as well.
  await addCredit(ledger.pool, {
    clientId: 'cli_a',
    day: FIRST,
    model: null,
    pico: -7n,
    who: 'ann',
    why: 'test',
  })
  const { kind } = await reprice(ledger.pool, orderTo('our-model', '2026-02-01', ['2', '4']))
  expect(kind).toBe('changed')
  const repriced = {
    list_usd: '0.00720000002',
    contracted_usd: '0.00620000001',
    billed_usd: '0.007200000015',
  }
  expect(await costs()).toMatchObject(repriced)
  const again = await reprice(ledger.pool, orderTo('our-model', '2026-02-01', ['2', '4']))
  expect(again.kind).toBe('unchanged')
  expect(await costs()).toMatchObject(repriced)

  // Back at the prices of before: nothing is left of what was added.
  await reprice(ledger.pool, orderTo('our-model', '2026-02-01', ['1', '2']))
  expect((await costs()).list_usd).toBe('0.00360000002')
  await json(env, 'contract', 'remove', half.id)
  expect(Object(await json(env, 'contract', 'list'))).toHaveLength(1)
})

test('a call is explained at all three, and its client sees one', async () => {
  await json(env, 'contract', 'set', ...CONTRACT)
  const [explained] = await explainCosts(ledger.pool, callId)
  expect(explained?.costs).toEqual({ listPico: 1_200_000_000n, contractedPico: 1_000_000_000n })
  const receipt = await findReceipt(ledger.pool, 'cli_a', callId)
  expect(JSON.stringify(receipt)).not.toMatch(/list|contracted/)
})

test('costs of values on an axis are refused', async () => {
  const { code, err } = await run(env, 'report', '--costs', '--by', 'axis:user', ...MONTH)
  expect([code, err]).toEqual([2, expect.stringContaining('--costs must be left out')])
})

test('a contract of a tier that no call has is refused', async () => {
  const set = ['contract', 'set', '--from', LATER, '--factor', '0.5', '--service-tier']
  for (const [tier, says] of [
    ['standard', 'another one than the standard tier'],
    ['us+batch', 'batch+us'],
  ] as const) {
    const { code, err } = await run(env, ...set, tier)
    expect([code, err]).toEqual([2, expect.stringContaining(`--service-tier must be ${says}`)])
  }
})

test('a cost whose price cannot be read is in reports as it is in the export', async () => {
  await ledger.pool.query(`update tallygate.prices set definition = definition || '{"later":1}'`)
  await costs()
})
