import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InvoiceOrder, importInvoice } from '../../../src/corrections/invoices/import-invoice.ts'
import {
  lockImports,
  selectImports,
  selectInvoicedUse,
} from '../../../src/corrections/invoices/invoices-table.ts'
import { openInvoiceFile } from '../../../src/corrections/invoices/read-records.ts'
import { createClient } from '../../../src/keys/clients.ts'
import { NO_PROGRESS } from '../../../src/operations/ports.ts'
import { inTransaction } from '../../../src/store/connection/postgres.ts'
import { findCharge, selectCharges } from '../../../src/usage/charges/charges-table.ts'
import { shareCharges } from '../../../src/usage/charges/share-charges.ts'
import { json, run } from '../../cli/command-line.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../../rollup/records.ts'

const USD = 1_000_000_000_000n
const PERIOD = { fromDay: '2026-09-01', toDay: '2026-09-30' }

let ledger: LedgerDatabase
let folder: string

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-'))
})
afterAll(async () => {
  await ledger?.drop()
  await rm(folder, { recursive: true })
})

interface Row {
  readonly day: string
  readonly cost: string
  readonly category?: string
  readonly meter?: string
  readonly currency?: string
}

function focus(rows: readonly Row[]): string {
  const lines = rows.map(({ day, cost, category = 'Usage', meter = 'gpt-4o input', currency = 'USD' }) =>
    [cost, currency, category, `${day}T00:00:00Z`, 'OpenAI', meter].join(','),
  )
  return ['BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ProviderName,SkuMeter', ...lines].join(
    '\n',
  )
}

async function take(text: InvoiceOrder['text'], changes: Partial<InvoiceOrder> = {}) {
  return await importInvoice(
    ledger.pool,
    {
      ...{ text, format: null, source: 'test', origin: 'a file', days: null, asCharges: null },
      ...{ isDry: false, rates: new Map(), biller: null },
      ...changes,
    },
    NO_PROGRESS,
  )
}

async function costs(): Promise<readonly (readonly [string, bigint])[]> {
  const use = await selectInvoicedUse(ledger.pool, { biller: 'openai', from: '2026-09-01', to: '2026-09-30' })
  return use.map(({ day, amountPico }) => [day, amountPico])
}

test('an import replaces what its source has of the days that it covers, and nothing else', async () => {
  const first = [1, 2, 3].map((day) => ({ day: `2026-09-0${day}`, cost: '1' }))
  await take(focus(first))
  await take(focus(first))
  expect(await costs()).toEqual([
    ['2026-09-01', USD],
    ['2026-09-02', USD],
    ['2026-09-03', USD],
  ])
  // Restated: a day has less, and one has nothing any more.
  const restated = await take(
    focus([
      { day: '2026-09-02', cost: '0.5' },
      { day: '2026-09-04', cost: '4' },
    ]),
  )
  expect(restated).toMatchObject({ replaced: 2, from: '2026-09-02', to: '2026-09-04' })
  expect(await costs()).toEqual([
    ['2026-09-01', USD],
    ['2026-09-02', USD / 2n],
    ['2026-09-04', 4n * USD],
  ])
  // Of another account, beside it.
  await take(focus([{ day: '2026-09-01', cost: '7' }]), { source: 'second account' })
  expect((await costs())[0]).toEqual(['2026-09-01', 8n * USD])
  await take(focus([{ day: '2026-09-01', cost: '9' }]), { isDry: true })
  expect((await costs())[0]).toEqual(['2026-09-01', 8n * USD])
  expect((await selectImports(ledger.pool)).map(({ source, rows }) => [source, rows]).sort()).toEqual([
    ['second account', 1n],
    ['test', 1n],
    ['test', 2n],
  ])
})

test('days that are known are replaced even where the report has nothing of them any more', async () => {
  await take(focus([{ day: '2026-09-11', cost: '1' }]), { source: 'fetched' })
  await take('', { source: 'fetched', days: { from: '2026-09-10', to: '2026-09-12' }, format: null }).catch(
    () => {},
  )
  const { FOCUS } = await import('../../../src/corrections/invoices/formats/focus.ts')
  await take('', { source: 'fetched', days: { from: '2026-09-10', to: '2026-09-12' }, format: FOCUS })
  expect((await costs()).map(([day]) => day)).not.toContain('2026-09-11')
})

test('a day that was not asked for is not added, and takes the place of no other day', async () => {
  const fetched = (from: string, to: string, days: readonly string[]) =>
    take(focus(days.map((day) => ({ day, cost: '1' }))), { days: { from, to }, source: 'beyond' })
  await fetched('2026-09-22', '2026-09-24', ['2026-09-22', '2026-09-23', '2026-09-24'])
  const before = await costs()
  for (let fetch = 0; fetch < 2; fetch += 1)
    expect(
      await fetched('2026-09-26', '2026-09-27', ['2026-09-22', '2026-09-26', '2026-09-28']),
    ).toMatchObject({ from: '2026-09-26', to: '2026-09-27', replaced: fetch, rows: 1, passedOver: 2 })
  expect(await costs()).toEqual([...before, ['2026-09-26', USD]])
})

test('a row that cannot be read is named by its line, and nothing of the file is kept', async () => {
  const before = await costs()
  const rows = [
    { day: '2026-09-20', cost: '1' },
    { day: '2026-09-31', cost: '1' },
    { day: '2026-09-20', cost: 'much' },
    { day: '2026-09-20', cost: '' },
    { day: '2026-09-20', cost: '1', category: 'Gift' },
    { day: '2026-09-20', cost: '1', currency: 'EUR' },
    { day: '2026-09-20', cost: '1', currency: 'GBP' },
  ]
  await expect(take(focus(rows))).rejects.toThrow(
    'cannot be read: line 3: "2026-09-31T00:00:00Z" is not a day; line 4: "much" is not an amount; line 5: BilledCost is empty; line 6: ChargeCategory "Gift" is none of FOCUS; line 7: the amount is in EUR, which has no rate to USD; and 1 more',
  )
  expect(await costs()).toEqual(before)
  await expect(take('a,b\n1,2\n')).rejects.toThrow('is of no format that is known here')
  await expect(take('')).rejects.toThrow('has no rows')
  await expect(take('{"a": 1\n')).rejects.toThrow('is not JSON')
})

test('rows that say the same become one, however large the file is', async () => {
  const header = focus([])
  const line = '0.001,USD,Usage,2026-09-25T10:00:00Z,OpenAI,gpt-4o input\n'
  const chunk = Buffer.from(line.repeat(1_000))
  async function* large() {
    yield Buffer.from(`${header}\n`)
    for (let index = 0; index < 50; index += 1) yield chunk
  }
  const taken = await take(Readable.from(large()), { source: 'large' })
  expect(taken.rows).toBe(50_000)
  expect(taken.sums.get('usage')).toBe(50n * USD)
  const [kept] = await selectImports(ledger.pool, taken.id)
  expect(kept?.rows).toBe(1n)
})

test('what is beside use becomes charges once, is restated with the invoice, and stays where it is shared out', async () => {
  const rows = (tax: string, credit: string | null) => [
    { day: '2026-09-01', cost: '10' },
    { day: '2026-09-01', cost: tax, category: 'Tax', meter: 'VAT' },
    { day: '2026-09-30', cost: '30', category: 'Purchase', meter: 'PTU' },
    ...(credit === null ? [] : [{ day: '2026-09-15', cost: credit, category: 'Credit', meter: 'promotion' }]),
  ]
  const asCharges = { upstream: null }
  const charges = async () =>
    (await selectCharges(ledger.pool, { period: PERIOD, clientId: null })).flatMap(
      ({ category, service, amountPico, sharedFrom }) =>
        sharedFrom === null ? [[category, service, amountPico] as const] : [],
    )
  for (let round = 0; round < 2; round += 1) {
    const { charged } = await take(focus(rows('1.9', '-5')), { source: 'charged', asCharges })
    expect(charged).toEqual({ set: 3, left: [] })
    expect(await charges()).toEqual([
      ['tax', 'VAT', 1_900_000_000_000n],
      ['credit', 'promotion', -5n * USD],
      ['purchase', 'PTU', 30n * USD],
    ])
  }
  await take(focus(rows('2', null)), { source: 'charged', asCharges })
  expect(await charges()).toEqual([
    ['tax', 'VAT', 2n * USD],
    ['purchase', 'PTU', 30n * USD],
  ])
  const client = await createClient(ledger.pool, 'acme')
  const arrivedAtMs = Date.parse('2026-09-10T12:00:00Z')
  await ledger.rollUp('test:calls', [
    aCandidate(newProducer(), 1, aRecord({ clientId: client?.id ?? '', arrivedAtMs })),
  ])
  await shareCharges(ledger.pool, { month: '2026-09', by: 'tokens', used: false, reason: 'as agreed' })
  const { charged } = await take(focus(rows('3', null)), { source: 'charged', asCharges })
  expect(charged).toMatchObject({ set: 1, left: [expect.stringMatching(/^invoice charged 2026-09-01 tax /)] })
  const [name = ''] = charged?.left ?? []
  expect((await findCharge(ledger.pool, name))?.amountPico).toBe(2n * USD)
})

test('a source has no charges of another one whose name begins as its own', async () => {
  const asCharges = { upstream: null }
  const tax = focus([{ day: '2026-09-20', cost: '1', category: 'Tax' }])
  await take(tax, { source: 'team', asCharges })
  await take(tax, { source: 'team two', asCharges })
  await take(focus([{ day: '2026-09-20', cost: '2' }]), { source: 'team', asCharges })
  const charges = await selectCharges(ledger.pool, { period: PERIOD, clientId: null })
  expect(charges.flatMap(({ name }) => (name.startsWith('invoice team ') ? [name] : []))).toEqual([
    expect.stringMatching(/^invoice team two 2026-09-20 tax /),
  ])
})

test.each(['\\u0000', '\\ud800'])('a text with %s is named by its line', async (letter) => {
  const row = `{"BilledCost":"1","BillingCurrency":"USD","ChargeCategory":"Usage","ChargePeriodStart":"2026-09-01","ProviderName":"OpenAI","SkuMeter":"a${letter}b"}`
  await expect(take(row)).rejects.toThrow('cannot be read: line 1: a text in it has a NUL, or half a letter')
})

test('a packed file that is cut is refused, however late it is read', async () => {
  const file = join(folder, 'cut.csv.gz')
  await writeFile(file, gzipSync(focus([{ day: '2026-09-01', cost: '1' }])).subarray(0, 60))
  const bytes = await openInvoiceFile(file)
  await new Promise(setImmediate)
  await expect(take(bytes)).rejects.toThrow('cannot be read: unexpected end of file')
  await expect(openInvoiceFile(folder)).rejects.toThrow(`${folder} cannot be read: `)
})

test('an import behind one that takes long is asked to try again', async () => {
  await inTransaction(ledger.pool, async (session) => {
    await lockImports(session)
    const other = inTransaction(ledger.pool, async (waiting) => {
      await waiting.query("set local lock_timeout = '1ms'")
      await lockImports(waiting)
    })
    await expect(other).rejects.toThrow('Another invoice is being imported: try again.')
  })
})

test('the command takes a file, lists it and removes it, and the audit has who did it', async () => {
  const env = { DATABASE_URL: ledger.url }
  const file = join(folder, 'focus.csv')
  await writeFile(file, focus([{ day: '2026-08-01', cost: '10', currency: 'EUR' }]))
  const refused = await run(env, 'invoice', 'import', file)
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('line 2: the amount is in EUR') })
  const taken = (await json(env, 'invoice', 'import', file, '--rates', 'EUR=1.1', '--source', 'by hand')) as {
    readonly id: string
  }
  expect(taken).toMatchObject({
    ...{ source: 'by hand', format: 'focus', origin: 'focus.csv', providers: ['openai'], rows_read: 1 },
    sums: [{ kind: 'usage', amount_usd: '11' }],
  })
  expect((await run(env, 'invoice', 'list')).out).toContain('focus.csv')
  expect((await json(env, 'audit', '--operation', 'invoices.import')) as object[]).toContainEqual(
    expect.objectContaining({ about: { import: taken.id } }),
  )
  expect((await run(env, 'invoice', 'remove', taken.id)).out).toContain(taken.id)
  expect(await run(env, 'invoice', 'remove', taken.id)).toMatchObject({ code: 1 })
  expect((await run(env, 'invoice', 'import', join(folder, 'none'))).err).toContain('cannot be read')
})
