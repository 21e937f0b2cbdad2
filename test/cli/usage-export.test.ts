import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Environment } from '../../src/config/config.ts'
import { addCredit } from '../../src/corrections/adjustments.ts'
import { addDays } from '../../src/domain/utc-day.ts'
import { findClient } from '../../src/keys/clients.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { json, run } from './command-line.ts'

const TODAY = holdClockAtNoon()
const YESTERDAY = addDays(TODAY, -1)
/** What a spreadsheet takes for a formula, what breaks lines that are not quoted, and what a terminal obeys. */
const EVIL = '=cmd|" /C calc"!A0,\nx\u001b[2J'

let ledger: LedgerDatabase
let env: Environment
let folder: string

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-export-'))
  env = { DATABASE_URL: ledger.url }
  await json(env, 'client', 'create', 'acme')
  const clientId = (await findClient(ledger.pool, 'acme'))?.id ?? ''
  const producer = newProducer()
  const records = [
    aRecord({ clientId }),
    aRecord({
      clientId,
      answerId: 'chatcmpl-7',
      status: 500,
      outcome: 'upstream_error',
      usageSource: 'estimated',
    }),
    aRecord({ clientId: 'cli_gone', model: EVIL, costPico: null, priceId: null }),
    aRecord({ clientId, arrivedAtMs: Date.now() - 86_400_000, costPico: '1' }),
    aRecord({ clientId, arrivedAtMs: Date.now() - 60 * 86_400_000 }),
  ]
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
  await json(env, 'adjustment', 'add', '--client', 'acme', '--amount-usd', '-12.5', '--reason', 'x')
})
afterAll(async () => {
  await ledger.drop()
  await rm(folder, { recursive: true, force: true })
})

const EXPORT = ['usage', 'export', '--from', YESTERDAY, '--to', TODAY]

async function exported(format: string, ...more: string[]): Promise<string> {
  const { code, out, err } = await run(env, ...EXPORT, '--format', format, ...more)
  if (code !== 0) throw new Error(err)
  return out
}

test('csv has one line for each row of totals, exact to the last digit, no formula and no control character', async () => {
  const out = await exported('csv')
  const lines = out.split('\r\n')
  expect(lines[0]).toMatch(
    /^day,client_id,client,key_id,key,model,upstream,provider,price_id,requests,reported,/,
  )
  expect(lines[0]).toMatch(
    /,latency_us_sum,latency_count,metered_usd,adjusted_usd,cost_usd,.*,trained_tokens,settlements(?:,|$)/,
  )
  expect(lines).toHaveLength(6)
  expect(lines[1]).toMatch(new RegExp(`^${YESTERDAY},cli_.*,acme,key_a,,gpt-4o-2024-08-06,openai,openai,`))
  expect(lines[1]).toMatch(/,0\.000000000001,0,0\.000000000001(?:,0){14}(?:,|$)/)
  expect(out).toContain(`,"'=cmd|"" /C calc""!A0,\ufffdx\ufffd[2J",openai,`)
  expect(out.replaceAll('\r\n', '')).not.toMatch(/\p{Cc}/u)
  expect(out).toMatch(/acme,,,\(adjustment\),,,,0,.*,0,-12\.5,-12\.5(?:,0){14}(?:,|\r\n)/)
  expect(out).toMatch(/,2,1,0,1,0,0,0,1,200,40,.*,100,20,3000,2,0\.0009,0,0\.0009(?:,0){14}(?:,|\r\n)/)
})

test('jsonl has the same columns by name, names as they are', async () => {
  const rows = (await exported('jsonl'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(rows).toHaveLength(4)
  expect(rows.find(({ client_id: id }) => id === 'cli_gone')).toMatchObject({
    model: EVIL,
    client: null,
    unpriced: 1,
    price_id: null,
    cost_usd: '0',
  })
  expect(rows.find(({ requests }) => requests === 2)).toMatchObject({
    day: TODAY,
    client: 'acme',
    requests: 2,
    errors: 1,
    input_tokens: 200,
    estimated_output_tokens: 20,
    latency_us_sum: 3_000,
    cost_usd: '0.0009',
  })
})

test('focus has a charge for each line of a cost, for calls without a price, and for a correction', async () => {
  const [header = '', ...lines] = (await exported('focus')).trimEnd().split('\r\n')
  const rows = lines.map((line) => focusRow(header, line))
  // Clients stand in the order of their ids, which are any.
  expect(
    rows.toSorted(
      (left, right) => Number(left.SubAccountId === 'cli_gone') - Number(right.SubAccountId === 'cli_gone'),
    ),
  ).toMatchObject([
    { ChargeCategory: 'Usage', BilledCost: '0.000000000001', ChargePeriodStart: `${YESTERDAY}T00:00:00Z` },
    { ChargeCategory: 'Adjustment', ChargeClass: '', BilledCost: '-12.5', SkuId: '' },
    {
      ChargeCategory: 'Usage',
      ChargeClass: '',
      BilledCost: '0.0009',
      BillingCurrency: 'USD',
      BillingPeriodStart: `${TODAY.slice(0, 7)}-01T00:00:00Z`,
      ChargePeriodEnd: `${addDays(TODAY, 1)}T00:00:00Z`,
      ConsumedQuantity: '2',
      ConsumedUnit: 'Requests',
      InvoiceId: expect.stringMatching(new RegExp(`^cli_.*/${TODAY.slice(0, 7)}$`)),
      ProviderName: 'openai',
      ServiceCategory: 'AI and Machine Learning',
      SkuId: 'openai/gpt-4o-2024-08-06/as_metered',
      SubAccountName: 'acme',
      Tags: '{}',
      x_Model: 'gpt-4o-2024-08-06',
    },
    {
      SkuMeter: 'unpriced',
      BilledCost: '0',
      SubAccountName: 'cli_gone',
      x_Model: expect.stringMatching(/^'=cmd/),
    },
  ])
})

function focusRow(header: string, line: string): Record<string, string> {
  const cells = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  )
  return Object.fromEntries(header.split(',').map((column, index) => [column, cells[index] ?? '']))
}

test('cloudevents has one event for each call, in the form that meters take, and one for each correction', async () => {
  const lines: { type: string; id: string; time: string; subject: string; data: Record<string, unknown> }[] =
    (await exported('cloudevents'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  const [corrections = [], events = []] = ['tallygate.adjustment', 'tallygate.call'].map((wanted) =>
    lines.filter(({ type }) => type === wanted),
  )
  expect(corrections).toMatchObject([{ data: { kind: 'credit', adjusted_usd: '-12.5', why: 'x' } }])
  expect(events).toHaveLength(4)
  for (const event of events) {
    expect(event).toMatchObject({ specversion: '1.0', source: 'tallygate', type: 'tallygate.call' })
    expect(event.id).toMatch(/^[0-9a-f-]{36}$/)
    expect(new Date(event.time).toISOString()).toBe(event.time)
  }
  expect(events.find(({ data }) => data.status === 500)).toMatchObject({
    subject: expect.stringMatching(/^cli_/),
    data: {
      client: 'acme',
      model: 'gpt-4o-2024-08-06',
      total_tokens: 120,
      cost_usd: '0.00045',
      response_id: 'chatcmpl-7',
    },
  })
  expect(events.find(({ subject }) => subject === 'cli_gone')?.data).not.toHaveProperty('cost_usd')
  const gone = await run(env, 'usage', 'export', '--format', 'cloudevents', '--from', addDays(TODAY, -90))
  expect(gone).toMatchObject({ code: 1, out: '' })
  expect(gone.err).toContain(`are not kept, the last one ${addDays(TODAY, -60)}`)
})

test('a file has its name only when it is whole', async () => {
  const file = join(folder, 'usage.csv')
  expect(await json(env, ...EXPORT, '--format', 'csv', '-o', file)).toEqual({
    file,
    format: 'csv',
    from: YESTERDAY,
    to: TODAY,
    rows: 4,
  })
  expect(await readFile(file, 'utf8')).toBe(await exported('csv'))
  expect(await readdir(folder)).toEqual(['usage.csv'])
  expect((await run(env, ...EXPORT, '--format', 'csv', '-o', join(folder, 'no/such/folder'))).code).toBe(1)
})

test('wrong orders are refused', async () => {
  expect((await run(env, 'usage', 'export')).code).toBe(2)
  expect((await run(env, 'usage', 'export', '--format', 'xml')).code).toBe(2)
  expect(
    (await run(env, 'usage', 'export', '--format', 'csv', '--to', addDays(TODAY, -40), '--from', TODAY)).err,
  ).toContain('is after')
  expect((await run(env, ...EXPORT, '--format', 'csv', '--client', 'nobody')).err).toContain(
    'there is no client',
  )
  expect((await run(env, ...EXPORT, '--format', 'csv', '--json')).err).toContain('--json needs -o')
  expect(await json(env, 'usage', '--client', 'acme')).toMatchObject({ requests: 3 })
})

test('many rows pass in pages, and a reader that has seen enough ends it quietly', async () => {
  await ledger.pool.query(`select tallygate.add_usage_months('{2020-02-29}')`)
  await ledger.pool.query(
    `insert into tallygate.daily_usage select r.* from tallygate.daily_usage u, generate_series(1, 20000) i,
       jsonb_populate_record(u, jsonb_build_object('client_id', 'cli_' || i, 'day', '2020-02-29')) r
     where u.model = '(adjustment)'`,
  )
  const args = [
    'src/cli/main.ts',
    'usage',
    'export',
    '--format',
    'jsonl',
    '--from',
    '2020-02-29',
    '--to',
    '2020-02-29',
  ]
  const options = { env: { ...process.env, DATABASE_URL: ledger.url } }
  const whole = spawn(process.execPath, args, options)
  const out = await text(whole.stdout)
  expect(out.trimEnd().split('\n')).toHaveLength(20_000)

  const cut = spawn(process.execPath, args, options)
  const errors = text(cut.stderr)
  cut.stdout.once('data', () => cut.stdout.destroy())
  const code = await new Promise((resolve) => cut.once('exit', resolve))
  expect([code, await errors]).toEqual([0, ''])
})

test('focus has a correction that came later also where another one made up for it', async () => {
  const { rows: clients } = await ledger.pool.query<{ id: string }>(`select id from tallygate.clients`)
  const credit = { clientId: clients[0]?.id ?? '', day: '2020-02-28', model: null, who: 'ann', why: 'x' }
  await addCredit(ledger.pool, { ...credit, pico: 5n })
  await ledger.pool.query(`update tallygate.adjustment_entries set at = day where day = '2020-02-28'`)
  await addCredit(ledger.pool, { ...credit, pico: -5n })
  const day = ['--from', '2020-02-28', '--to', '2020-02-28']
  const { out } = await run(env, 'usage', 'export', ...day, '--format', 'focus')
  const [header = '', ...lines] = out.trimEnd().split('\r\n')
  expect(lines.map((line) => focusRow(header, line))).toMatchObject([
    { ChargeCategory: 'Adjustment', ChargeClass: '', BilledCost: '0.000000000005' },
    { ChargeCategory: 'Adjustment', ChargeClass: 'Correction', BilledCost: '-0.000000000005' },
  ])
})

test('the page about exports names every column', async () => {
  const page = await readFile('docs/export.md', 'utf8')
  const headers = [...((await exported('csv')).split('\r\n')[0]?.split(',') ?? [])]
  const ofFocus = (await exported('focus')).split('\r\n')[0]?.split(',') ?? []
  expect([...headers, ...ofFocus].filter((column) => !page.includes(`\`${column}\``))).toEqual([])
})
