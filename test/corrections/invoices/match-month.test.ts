import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NO_USAGE } from '../../../src/call/usage.ts'
import { type InvoiceOrder, importInvoice } from '../../../src/corrections/invoices/import-invoice.ts'
import { selectImports } from '../../../src/corrections/invoices/invoices-table.ts'
import { INVOICES, selectRecentMatches } from '../../../src/corrections/invoices/match/conditions.ts'
import { selectInvoiceFigures } from '../../../src/corrections/invoices/match/invoice-figures.ts'
import { matchInvoices, selectInvoiceStates } from '../../../src/corrections/invoices/match/matches-table.ts'
import { parseUsdText } from '../../../src/domain/pico-usd.ts'
import { createClient } from '../../../src/keys/clients.ts'
import { NO_PROGRESS } from '../../../src/operations/ports.ts'
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
  const overview = {
    ...{ ledger: { producers: [] }, journals: new Map(), corruptJournals: 0 },
    ...{ backlogs: new Map(), redisProblem: null },
  }
  const ports = { pool: ledger.pool, now: () => NOW_MS, inspectLedger: async () => overview }
  const found = await findOpenEnds(ports as unknown as Parameters<typeof findOpenEnds>[0], 'none', '2026-09')
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

test('the command fetches a report by hand', async () => {
  answer = () => ({
    body: { data: [{ starting_at: '2026-09-01T00:00:00Z', results: [] }], has_more: false, next_page: null },
  })
  const env = { DATABASE_URL: ledger.url, ANTHROPIC_ADMIN_KEY: 'sk-ant-admin-x' }
  const order = ['invoice', 'fetch', '--provider', 'anthropic', '--base-url', url] as const
  expect(await json(env, ...order)).toMatchObject({ format: 'anthropic-costs', rows_read: 0 })
  expect((await run({ DATABASE_URL: ledger.url }, ...order)).err).toContain('ANTHROPIC_ADMIN_KEY is not set')
})
