import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NO_USAGE } from '../../../src/call/usage.ts'
import { type InvoiceOrder, importInvoice } from '../../../src/corrections/invoices/import-invoice.ts'
import { selectImports } from '../../../src/corrections/invoices/invoices-table.ts'
import { INVOICES, selectRecentMatches } from '../../../src/corrections/invoices/match/conditions.ts'
import { selectInvoiceFigures } from '../../../src/corrections/invoices/match/invoice-figures.ts'
import { matchMonth } from '../../../src/corrections/invoices/match/match-month.ts'
import { matchInvoices, selectInvoiceStates } from '../../../src/corrections/invoices/match/matches-table.ts'
import { parseUsdText, picoToUsdText } from '../../../src/domain/pico-usd.ts'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { createClient } from '../../../src/keys/clients.ts'
import { NO_PROGRESS } from '../../../src/operations/ports.ts'
import { buildLinearPrice } from '../../../src/pricing/price.ts'
import { findOpenEnds } from '../../../src/statements/open-ends.ts'
import { takeInvoices } from '../../../workers/invoices.ts'
import { TryAgain } from '../../../workers/queue.ts'
import { json, run } from '../../cli/command-line.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from '../../rollup/records.ts'

const NOW_MS = Date.parse('2026-10-05T12:00:00Z')
const DAYS = ['2026-09-01', '2026-09-02', '2026-09-30']
/** Of each call: 100 tokens in and 20 out, at 1e-12 USD. */
const COST_PICO = 450_000_000n

let ledger: LedgerDatabase
let provider: Server
let url: string
let answer: (asked: URL) => { readonly status?: number; readonly body: unknown }

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  await createClient(ledger.pool, 'acme')
  const producer = newProducer()
  const usage = { ...NO_USAGE, inputTokens: 100, outputTokens: 20 }
  const records = DAYS.flatMap((day) =>
    [9, 15].map((hour) =>
      aRecord({
        arrivedAtMs: Date.parse(`${day}T00:00:00Z`) + hour * 3_600_000,
        usage,
        costPico: `${COST_PICO}`,
      }),
    ),
  )
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
  provider = createServer((request, response) => {
    const { status = 200, body } = answer(new URL(request.url ?? '', 'http://provider'))
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
})
afterAll(async () => {
  provider.close()
  await ledger.drop()
})

/** A bucket of a day, as OpenAI writes it. */
function bucket(day: string, ...items: readonly (readonly [item: string, usd: number, project?: string])[]) {
  const start = Date.parse(`${day}T00:00:00Z`) / 1_000
  return {
    ...{ object: 'bucket', start_time: start, end_time: start + 86_400 },
    results: items.map(([line_item, value, project_id = 'proj_ours']) => ({
      ...{ object: 'organization.costs.result', amount: { value, currency: 'usd' }, line_item, project_id },
    })),
  }
}

const MODEL = 'gpt-4o-2024-08-06'
/** Both calls of a day. */
const both = Number(2n * COST_PICO) / 1e12

async function take(buckets: readonly object[], changes: Partial<InvoiceOrder> = {}): Promise<void> {
  await importInvoice(
    ledger.pool,
    {
      ...{
        text: JSON.stringify({ data: buckets }),
        format: null,
        source: null,
        origin: 'a file',
        asCharges: null,
      },
      ...{ days: { from: '2026-09-01', to: '2026-09-30' }, isDry: false, rates: new Map(), biller: null },
      ...changes,
    },
    NO_PROGRESS,
  )
}

async function openEnds(): Promise<readonly string[]> {
  const none = { streams: [], producerCount: 0, producers: [], gaps: [], gapCount: 0 }
  const overview = {
    ledger: { ...none, missingRecords: 0n, deadLetters: 0, newestDeadLetterAt: null },
    ...{ journals: new Map(), corruptJournals: 0, backlogs: new Map(), redisProblem: null },
  }
  const ports = { pool: ledger.pool, now: () => NOW_MS, inspectLedger: async () => overview }
  const found = await findOpenEnds(ports, 'none', '2026-09')
  return found.map(({ name, says }) => `${name}: ${says}`)
}

const reconcile = ['reconcile', '--provider', 'openai', '--month', '2026-09'] as const

test('without an invoice a month is not compared, and a statement waits for none', async () => {
  expect((await run({ DATABASE_URL: ledger.url }, ...reconcile)).err).toContain('no invoice of openai covers')
  expect(await openEnds()).toEqual([])
})

test('a month whose invoice says the same has no difference', async () => {
  await take(DAYS.map((day) => bucket(day, [MODEL, both])))
  expect(await openEnds()).toEqual([
    'unmatched_invoices: The invoice of openai for 2026-09 is not compared with totals yet: tallygate reconcile --provider openai --month 2026-09.',
  ])
  await matchInvoices(ledger.pool, null)
  expect(await openEnds()).toEqual([])
  const { code, out } = await run({ DATABASE_URL: ledger.url }, ...reconcile)
  expect([code, out]).toEqual([
    0,
    'openai, 2026-09 (to 2026-09-30): ours 0.00, invoice 0.00, difference 0.00: nothing differs.\n',
  ])
})

test('a month with differences of each class names each, says it in one sentence, and adds up', async () => {
  await take([
    bucket('2026-09-01', [MODEL, both], [MODEL, 41_207, 'proj_other']),
    bucket('2026-09-02', [MODEL, both], ['vector store storage', 0.04]),
    bucket('2026-09-30', [MODEL, both / 2]),
  ])
  const { invoice, total } = (await json({ DATABASE_URL: ledger.url }, ...reconcile)) as {
    readonly invoice: {
      readonly difference_usd: string
      readonly differences: readonly { readonly class: string; readonly amount_usd: string }[]
    }
    readonly total: { readonly theirs: { readonly cost_usd: string } }
  }
  expect(total.theirs.cost_usd).toBe('41207.04225')
  expect(invoice).toMatchObject({
    ...{ ours_usd: '0.0027', invoice_usd: '41207.04225', difference_usd: '41207.03955' },
    unexplained_usd: '0.00045',
    differences: [
      { class: 'other_key', remark: 'proj_other', from: '2026-09-01', amount_usd: '41207' },
      { class: 'fee', model: 'vector store storage', amount_usd: '0.04' },
      { class: 'unexplained', from: '2026-09-30', amount_usd: '-0.00045' },
    ],
  })
  const sum = invoice.differences.reduce((all, one) => all + parseUsdText(one.amount_usd), 0n)
  expect(sum).toBe(parseUsdText(invoice.difference_usd))
  const { out } = await run({ DATABASE_URL: ledger.url }, ...reconcile)
  expect(out).toContain(
    'openai, 2026-09 (to 2026-09-30): ours 0.00, invoice 41,207.04, difference 41,207.04: 41,207.00 other key, 0.04 fee, 0.00 unexplained.',
  )
  expect(out).toContain('other key: calls that did not pass the gateway')
})

test('days that no import covers are not compared', async () => {
  await take([bucket('2026-08-01', [MODEL, 1])], { days: { from: '2026-08-01', to: '2026-08-02' } })
  const of = async (month: string) =>
    await json({ DATABASE_URL: ledger.url }, 'reconcile', '--provider', 'openai', '--month', month)
  expect(await of('2026-08')).toMatchObject({ from: '2026-08-01', to: '2026-08-02' })
  await take([bucket('2026-08-01', [MODEL, 0])], { days: { from: '2026-08-01', to: '2026-08-02' } })
})

test('too much that is unexplained holds the month open, and is a finding, an alert and a metric', async () => {
  const seen = { pool: ledger.pool, nowMs: NOW_MS }
  await matchInvoices(ledger.pool, '2026-09-01')
  expect(await INVOICES.find?.(seen)).toContainEqual(
    expect.objectContaining({ state: 'ok', detail: 'the invoice of openai for 2026-09 is explained' }),
  )
  await take(DAYS.map((day) => bucket(day, [MODEL, day === '2026-09-01' ? both + 12.5 : both])))
  await matchInvoices(ledger.pool, null)
  expect(await selectRecentMatches(ledger.pool, NOW_MS)).toContainEqual(
    expect.objectContaining({ month: '2026-09', unexplainedPico: 12_500_000_000_000n }),
  )
  expect((await openEnds())[0]).toContain('unmatched_invoices: 12.5 USD of 12.5027 on the invoice of openai')
  expect(await INVOICES.find?.(seen)).toContainEqual(
    expect.objectContaining({ state: 'note', mend: 'tallygate reconcile --provider openai --month 2026-09' }),
  )
  const { alert } = INVOICES
  const found =
    alert !== undefined && 'finders' in alert ? await alert.finders[0](seen as never, {} as never) : []
  expect(found).toMatchObject([
    { subject: 'openai 2026-09', period: '2026-09-01', payload: { unexplained_usd: '12.5' } },
  ])
  expect(await selectInvoiceFigures(ledger.pool, NOW_MS)).toContainEqual({
    ...{
      provider: 'openai',
      month: '2026-09',
      invoiceUsd: 12.5027,
      differenceUsd: 12.5,
      unexplainedUsd: 12.5,
    },
  })
  expect(await run({ DATABASE_URL: ledger.url }, ...reconcile)).toMatchObject({ code: 1 })
})

test('the nightly job takes what it has a key for, restated, and compares it', async () => {
  let usd = both
  answer = (asked) => {
    expect(asked.pathname).toBe('/v1/organization/costs')
    expect(asked.searchParams.getAll('group_by')).toEqual(['line_item', 'project_id'])
    return {
      body: {
        data: [bucket('2026-09-02', [MODEL, usd]), bucket('2026-09-03')],
        has_more: false,
        next_page: null,
      },
    }
  }
  const job = {
    ...{ pool: ledger.pool, adminKeys: { openai: 'sk-admin-x', anthropic: null }, baseUrls: { openai: url } },
    ...{ today: '2026-10-05', log: quiet, isRepeat: false },
  }
  await take(DAYS.map((day) => bucket(day, [MODEL, both])))
  for (usd of [both, both + 7]) {
    await takeInvoices(job)
    // It begins on 31 August, so that it has all days of the month.
    const [state] = (await selectInvoiceStates(ledger.pool, '2026-09')).filter(
      ({ month }) => month === '2026-09',
    )
    expect(state?.match?.invoicedPico).toBe(BigInt(Math.round(usd * 1e12)))
  }
  expect((await selectImports(ledger.pool)).filter(({ origin }) => origin.startsWith(url))).toHaveLength(1)
  answer = () => ({ status: 403, body: { error: 'no' } })
  await expect(takeInvoices(job)).rejects.toThrow(TryAgain)
})

const CLAUDE = 'anthropic.claude-sonnet-4-5-20250929-v1:0'
/** 3, 0.30 and 15 USD a million. */
const PRICE = buildLinearPrice({
  ...{ basis: 'linear', source: 'yaml', provider: 'bedrock', model: CLAUDE, from: null, context: null },
  ...{ hours: null, serviceTier: null, serviceTierPriced: true, factor: '1', variant: null },
  rates: { input: 3_000_000n, cacheRead: 300_000n, output: 15_000_000n },
})
const AWS_DAYS = ['2026-07-01', '2026-07-02', '2026-07-03', '2026-07-04']

interface CurRow {
  readonly day?: string
  readonly type: string
  /** In thousands of tokens, and in USD. */
  readonly thousands?: number
  readonly usd: number
  /** As many places of it are written. */
  readonly places?: number
  readonly kind?: string
  readonly account?: string
}

function curFile(rows: readonly CurRow[]): string {
  const header = [
    ...['line_item_usage_start_date', 'line_item_usage_account_id', 'line_item_line_item_type'],
    ...['line_item_product_code', 'line_item_usage_type', 'line_item_usage_amount', 'pricing_unit'],
    ...['line_item_currency_code', 'line_item_unblended_cost'],
  ]
  const lines = rows.map(
    ({ day = '', type, thousands = 0, usd, places = 10, kind = 'Usage', account = '1111' }) =>
      [
        ...[`${day}T07:00:00.000Z`, account, kind, 'AmazonBedrock', `USE1-ClaudeSonnet4.5-${type}`],
        ...[thousands, '1K tokens', 'USD', usd.toFixed(places)],
      ].join(','),
  )
  return [header.join(','), ...lines].join('\n')
}

test("AWS's report of calls at list prices has no difference, and each that is put into it is found", async () => {
  const usage = { ...NO_USAGE, inputTokens: 10_000, cacheReadTokens: 4_000, outputTokens: 2_000 }
  const producer = newProducer()
  await ledger.rollUp(
    'test:calls',
    AWS_DAYS.map((day, index) =>
      aCandidate(
        producer,
        index + 1,
        aRecord({
          ...{ arrivedAtMs: Date.parse(`${day}T07:30:00Z`), usage, costPico: '49200000000' },
          ...{ provider: 'bedrock', upstream: 'aws', model: CLAUDE, reportedModel: CLAUDE },
          ...{ priceId: PRICE.id, price: PRICE.json },
        }),
      ),
    ),
  )
  const same = AWS_DAYS.flatMap((day): CurRow[] => [
    { day, type: 'input-tokens', thousands: 6, usd: 0.018 },
    { day, type: 'cache-read-input-token-count', thousands: 4, usd: 0.0012 },
    { day, type: 'output-tokens', thousands: 2, usd: 0.03 },
  ])
  const held = async (rows: readonly CurRow[]) => {
    await take([], { text: curFile(rows), days: { from: '2026-07-01', to: '2026-07-31' } })
    const matched = await matchMonth(ledger.pool, 'aws', '2026-07')
    const differences = matched?.differences ?? []
    expect(differences.reduce((sum, { amountPico }) => sum + amountPico, 0n)).toBe(
      (matched?.invoicedPico ?? 0n) - (matched?.oursPico ?? 0n),
    )
    return differences.map((one) => [one.class, one.from, one.remark, picoToUsdText(one.amountPico)]).sort()
  }
  expect(await held(same)).toEqual([])
  const [first, second, third, fourth] = AWS_DAYS
  const put = (day: string | undefined, type: string, ...rows: readonly CurRow[]) => {
    const at = same.findIndex((row) => row.day === day && row.type === type)
    same.splice(at, 1, ...rows.map((row) => ({ ...row, day: day ?? '' })))
  }
  put(first, 'input-tokens', { type: 'input-tokens', thousands: 5, usd: 0.015 })
  put(second, 'input-tokens', { type: 'input-tokens', thousands: 7, usd: 0.021 })
  put(
    second,
    'output-tokens',
    { type: 'output-tokens', thousands: 1, usd: 0.015 },
    { type: 'output-tokens-batch', thousands: 1, usd: 0.0075 },
  )
  put(third, 'input-tokens', { type: 'input-tokens', thousands: 6, usd: 0.0198 })
  const cached = 'cache-read-input-token-count'
  put(third, cached, { type: cached, thousands: 4, usd: 0.0012, places: 3 })
  put(fourth, 'output-tokens', { type: 'output-tokens', thousands: 1.5, usd: 0.0225 })
  same.push({ day: fourth ?? '', type: 'output-tokens', thousands: 1, usd: 0.015, account: '2222' })
  same.push({ day: first ?? '', type: 'input-tokens', usd: 0.19, kind: 'Tax' })
  expect(await held(same)).toEqual([
    ['fee', '2026-07-01', 'tax', '0.19'],
    ['late', '2026-07-01', 'counted as of 2026-07-02 there', '-0.003'],
    ['late', '2026-07-02', 'counted as of 2026-07-01 here', '0.003'],
    ['other_key', '2026-07-04', '', '0.0075'],
    ['price', '2026-07-03', 'for a million 3.3 there, 3 here', '0.0018'],
    ['rounding', '2026-07-03', '', '-0.0002'],
    ['tier', '2026-07-02', 'batch there, standard here', '-0.0075'],
  ])
})

test('answers that an invoice names are found among the calls that are kept', async () => {
  const arrivedAtMs = Date.now()
  const day = utcDayOf(arrivedAtMs)
  const of = { provider: 'azure-openai', upstream: 'azure', costPico: `${COST_PICO}` }
  const record = aRecord({ ...of, arrivedAtMs, responseId: 'resp_ours' })
  await ledger.rollUp('test:calls', [aCandidate(newProducer(), 1, record)])
  const row = (id: string, usd: string) =>
    `${usd},USD,Usage,${day}T00:00:00Z,Microsoft,Azure OpenAI,${MODEL},${id}`
  const header =
    'BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ProviderName,ServiceName,x_Model,x_ResponseId'
  const text = [header, row('resp_ours', '0.00045'), row('resp_other', '7')].join('\n')
  await take([], { text, days: null })
  const matched = await matchMonth(ledger.pool, 'azure', day.slice(0, 7))
  expect(matched?.differences).toMatchObject([
    { class: 'other_key', remark: 'no call of ours has its id', amountPico: 7_000_000_000_000n },
  ])
})

test('the command fetches a report by hand', async () => {
  answer = () => ({
    body: { data: [{ starting_at: '2026-09-01T00:00:00Z', results: [] }], has_more: false, next_page: null },
  })
  const env = { DATABASE_URL: ledger.url, ANTHROPIC_ADMIN_KEY: 'sk-ant-admin-x' }
  const order = ['invoice', 'fetch', '--provider', 'anthropic', '--base-url', url] as const
  expect(await json(env, ...order)).toMatchObject({ format: 'anthropic-costs', rows_read: 0 })
  expect((await run({ DATABASE_URL: ledger.url }, ...order)).err).toContain('ANTHROPIC_ADMIN_KEY is not set')
})
