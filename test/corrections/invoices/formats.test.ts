import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { decimalOfText } from '#prices/decimal.ts'
import {
  amountOf,
  BadRow,
  type CurrencyRates,
  dayOf,
  quantityOf,
} from '../../../src/corrections/invoices/invoice-row.ts'
import { classIn, modelIn } from '../../../src/corrections/invoices/invoice-words.ts'
import { openInvoiceFile } from '../../../src/corrections/invoices/read-records.ts'
import { cellsOf } from '../../../src/corrections/invoices/split-records.ts'
import { csv, readInvoice as read } from './read-invoice.ts'

const USD = 1_000_000_000_000n
const NO_RATES: CurrencyRates = new Map()

const OPENAI = {
  object: 'page',
  data: [
    { object: 'bucket', start_time: 1_788_220_800, end_time: 1_788_307_200, results: [] },
    {
      object: 'bucket',
      start_time: 1_788_307_200,
      end_time: 1_788_393_600,
      results: [
        {
          object: 'organization.costs.result',
          amount: { value: 0.06, currency: 'usd' },
          line_item: 'gpt-4o-2024-08-06, cached input',
          project_id: 'proj_abc',
          quantity: 48_000,
        },
        {
          object: 'organization.costs.result',
          amount: { value: 1e-7, currency: 'usd' },
          line_item: 'web search tool calls',
          project_id: null,
        },
      ],
    },
  ],
  has_more: false,
  next_page: null,
}

test.each([
  ['one page', JSON.stringify(OPENAI)],
  ['a page over several lines', JSON.stringify(OPENAI, null, 2)],
  ['a list of pages', JSON.stringify([OPENAI])],
  ['a line for each bucket', OPENAI.data.map((bucket) => JSON.stringify(bucket)).join('\n')],
])("OpenAI's costs are read from %s", async (_name, text) => {
  const { format, rows } = await read(text)
  expect(format).toBe('openai-costs')
  expect(rows).toMatchObject([
    {
      ...{ biller: 'openai', day: '2026-09-02', service: 'gpt-4o-2024-08-06, cached input', kind: 'usage' },
      ...{ class: 'cache_read', tier: null, account: 'proj_abc', quantityMicro: 48_000_000_000n },
      ...{ amountPico: 60_000_000_000n, roundingPico: 5_000_000_000n },
    },
    { service: 'web search tool calls', class: 'search', quantityMicro: null, amountPico: 100_000n },
  ])
})

test("Anthropic's cost report is in cents, with the class, the tier and the place of tokens", async () => {
  const result = {
    ...{ currency: 'USD', amount: '123.78912', workspace_id: 'wrkspc_1', cost_type: 'tokens' },
    ...{ description: 'Claude Sonnet 4 Usage - Input Tokens, Cache Write', context_window: '0-200k' },
    ...{ model: 'claude-sonnet-4-20250514', service_tier: 'batch', inference_geo: 'us' },
    token_type: 'cache_creation.ephemeral_1h_input_tokens',
  }
  const search = {
    ...{ currency: 'USD', amount: '1.00', workspace_id: null, cost_type: 'web_search', model: null },
    ...{
      description: 'Web Search Usage',
      service_tier: null,
      token_type: null,
      inference_geo: 'not_available',
    },
  }
  const page = {
    data: [
      { starting_at: '2026-09-01T00:00:00Z', ending_at: '2026-09-02T00:00:00Z', results: [result, search] },
    ],
    ...{ has_more: false, next_page: null },
  }
  const { format, rows } = await read(JSON.stringify(page))
  expect(format).toBe('anthropic-costs')
  expect(rows).toMatchObject([
    {
      ...{ day: '2026-09-01', service: 'claude-sonnet-4-20250514', class: 'cache_write', tier: 'batch' },
      ...{ place: 'us', account: 'wrkspc_1', amountPico: 1_237_891_200_000n, roundingPico: 50_000n },
    },
    { service: 'Web Search Usage', class: 'search', tier: null, place: 'global', amountPico: USD / 100n },
  ])
})

const CUR = [
  'identity_line_item_id',
  'line_item_usage_start_date',
  'line_item_usage_account_id',
  'line_item_line_item_type',
  'line_item_product_code',
  'line_item_usage_type',
  'line_item_usage_amount',
  'line_item_currency_code',
  'line_item_unblended_cost',
  'line_item_line_item_description',
  'pricing_unit',
  'product',
  'product_region_code',
]
const cur = (...cells: readonly string[]) => ['x', '2026-09-30T23:00:00.000Z', '111122223333', ...cells]

test("AWS's report 2.0 keeps Bedrock alone, its marketplace's models too, and what is beside use apart", async () => {
  const text = csv(
    CUR,
    cur('Usage', 'AmazonEC2', 'BoxUsage:t3.micro', '1', 'USD', '0.01', 'a machine', 'Hrs', '{}', 'us-east-1'),
    cur(
      ...['Usage', 'AmazonBedrock', 'USE1-NovaLite-input-tokens', '12.5', 'USD', '0.00075', 'text'],
      ...['1K tokens', '{"product_name":"Amazon Bedrock"}', 'us-east-1'],
    ),
    cur(
      ...[
        'Usage',
        '3x4mpl3',
        'USE1-MP:USE1_CacheReadInputTokenCount-Units',
        '3',
        'USD',
        '0.9',
        'AWS Marketplace, "global"',
      ],
      ...['Units', '{"product_name":"Claude Sonnet 4.5 (Amazon Bedrock Edition)"}', 'us-east-1'],
    ),
    cur(
      'Tax',
      'AmazonBedrock',
      'USE1-NovaLite-input-tokens',
      '1',
      'USD',
      '0.19',
      'Tax of type VAT',
      '',
      '{}',
      '',
    ),
    cur('Credit', 'AmazonBedrock', '', '', 'USD', '-5.25', 'Promotional credit', '', '{}', ''),
    cur(
      'SavingsPlanRecurringFee',
      'AmazonBedrock',
      'USE1-PT',
      '1',
      'USD',
      '3',
      'commitment',
      'Hrs',
      '{}',
      '',
    ),
  )
  const { format, rows } = await read(text)
  expect(format).toBe('aws-cur')
  expect(rows).toMatchObject([
    {
      ...{ biller: 'aws', day: '2026-09-30', service: 'USE1-NovaLite-input-tokens', class: 'input' },
      ...{ tier: 'standard', place: 'us-east-1', account: '111122223333', quantityMicro: 12_500_000_000n },
      ...{ amountPico: 750_000_000n, roundingPico: 5_000_000n },
    },
    { class: 'cache_read', place: 'global', quantityMicro: 3_000_000n },
    { kind: 'tax', class: null, amountPico: 190_000_000_000n },
    { kind: 'credit', service: 'Promotional credit', amountPico: -5_250_000_000_000n },
    { kind: 'commitment', amountPico: 3n * USD },
  ])
})

test('the report before it has other names for the same columns', async () => {
  const text = csv(
    [
      'lineItem/UsageStartDate',
      'lineItem/LineItemType',
      'lineItem/ProductCode',
      'lineItem/UnblendedCost',
      'lineItem/CurrencyCode',
      'product/ProductName',
    ],
    ['2026-09-01T00:00:00Z', 'Usage', 'AmazonBedrock', '0.5', 'USD', 'Amazon Bedrock'],
  )
  expect(await read(text)).toMatchObject({
    format: 'aws-cur',
    rows: [{ day: '2026-09-01', service: 'Amazon Bedrock / AmazonBedrock', amountPico: USD / 2n }],
  })
})

test.each([
  'ProviderName',
  'ServiceProviderName',
])('FOCUS is read with its %s, by its billed cost', async (provider) => {
  const header = [
    ...[
      'BilledCost',
      'EffectiveCost',
      'BillingCurrency',
      'ChargeCategory',
      'ChargeClass',
      'ChargeDescription',
    ],
    ...[
      'ChargePeriodStart',
      'ConsumedQuantity',
      'ConsumedUnit',
      provider,
      'RegionId',
      'ServiceName',
      'SkuMeter',
    ],
    ...['SubAccountId', 'CommitmentDiscountId'],
  ]
  const row = (cost: string, category: string, ofClass: string, meter: string, commitment = '') => [
    ...[cost, '9', 'USD', category, ofClass, 'a charge'],
    ...['2026-09-01T02:00:00+03:00', '1500', 'Tokens', 'Microsoft', 'eastus', 'Azure OpenAI', meter],
    ...['sub-1', commitment],
  ]
  const { format, rows } = await read(
    csv(
      header,
      row('0.015', 'Usage', '', 'gpt-4o-0806-Outp-regnl Tokens'),
      row('260', 'Purchase', '', 'PTU', '/reservations/1'),
      row('-1', 'Usage', 'Correction', 'gpt-4o-0806-Outp-regnl Tokens'),
      row('-2', 'Credit', '', 'credit'),
    ),
  )
  expect(format).toBe('focus')
  expect(rows).toMatchObject([
    {
      ...{ biller: 'azure', day: '2026-08-31', kind: 'usage', class: 'output', tier: 'standard' },
      ...{ place: 'regional', account: 'sub-1', quantityMicro: 1_500_000_000n, amountPico: 15_000_000_000n },
    },
    { kind: 'commitment', amountPico: 260n * USD },
    { kind: 'adjustment', amountPico: -USD },
    { kind: 'credit', amountPico: -2n * USD },
  ])
})

test("Google's rows have their credits as rows of their own, and are read in lines of JSON and CSV alike", async () => {
  const row = {
    billing_account_id: '01AAAA-BBBBBB-CCCCCC',
    service: { id: 'C7E2-9256-1C43', description: 'Vertex AI' },
    sku: { id: '1127-99B9-1860', description: 'Gemini 2.5 Pro Text Input - Batch Predictions' },
    usage_start_time: '2026-09-01 07:00:00 UTC',
    project: { id: 'our-project', name: 'ours' },
    labels: [],
    location: { location: 'us-central1', region: 'us-central1' },
    cost: 1.25e-6,
    currency: 'USD',
    usage: { amount: 2, unit: 'requests', amount_in_pricing_units: 2, pricing_unit: 'count' },
    credits: [{ name: 'promotion', amount: -0.25, type: 'PROMOTION' }],
    cost_type: 'regular',
  }
  const other = {
    ...row,
    service: { description: 'Cloud Storage' },
    sku: { description: 'Standard Storage' },
  }
  const text = [row, other, { ...row, cost_type: 'tax', credits: [] }]
    .map((one) => JSON.stringify(one))
    .join('\n')
  const { format, rows, lines } = await read(text)
  expect(format).toBe('google-billing')
  expect(lines).toEqual([1, 2, 3])
  expect(rows).toMatchObject([
    {
      ...{ biller: 'google', day: '2026-09-01', class: 'input', tier: 'batch', place: 'us-central1' },
      ...{ account: 'our-project', quantityMicro: 2_000_000n, amountPico: 1_250_000n },
    },
    { kind: 'credit', class: null, quantityMicro: null, amountPico: -USD / 4n },
    { kind: 'tax', amountPico: 1_250_000n },
  ])
  const flat = csv(
    ['service_description', 'sku_description', 'usage_start_time', 'cost', 'currency', 'project_id'],
    ['Generative Language API', 'Gemini 2.5 Flash output', '2026-09-01T00:00:00Z', '3', 'USD', 'our-project'],
  )
  expect(await read(flat)).toMatchObject({
    format: 'google-billing',
    rows: [{ class: 'output', amountPico: 3n * USD, account: 'our-project' }],
  })
})

test("Azure's details are read with the days and exponents that it writes, in dollars where it has them", async () => {
  const text = csv(
    [
      ...[
        'Date',
        'MeterCategory',
        'MeterSubCategory',
        'MeterName',
        'Quantity',
        'UnitOfMeasure',
        'ChargeType',
      ],
      ...['CostInBillingCurrency', 'BillingCurrency', 'costInUsd', 'SubscriptionId', 'ReservationId'],
    ],
    [
      '09/07/2026',
      'Foundry Models',
      'Azure OpenAI',
      'gpt 4o 0806 cached Inp glbl Tokens',
      '1.5',
      '1K',
      'Usage',
      '8E-05',
      'EUR',
      '9.25E-05',
      'sub',
      '',
    ],
    [
      '09/07/2026',
      'Foundry Models',
      'Azure OpenAI',
      'gpt 4o 0806 Batch Outp DZ Tokens',
      '2',
      '1M',
      'Usage',
      '1',
      'USD',
      '',
      'sub',
      '',
    ],
    [
      '09/01/2026',
      'Foundry Models',
      'Provisioned',
      'PTU',
      '1',
      '1/Month',
      'Purchase',
      '260',
      'USD',
      '',
      'sub',
      'r-1',
    ],
    ['09/01/2026', 'Virtual Machines', '', 'D2s', '1', '1 Hour', 'Usage', '5', 'USD', '', 'sub', ''],
  )
  const { format, rows } = await read(text)
  expect(format).toBe('azure-costs')
  expect(rows).toMatchObject([
    {
      ...{ day: '2026-09-07', class: 'cache_read', place: 'global', quantityMicro: 1_500_000_000n },
      amountPico: 92_500_000n,
    },
    { class: 'output', tier: 'batch', place: 'data-zone', quantityMicro: 2_000_000_000_000n },
    { kind: 'commitment', amountPico: 260n * USD },
  ])
})

test('another currency needs a rate, and counts at it', async () => {
  const text = csv(
    ['BilledCost', 'BillingCurrency', 'ChargeCategory', 'ChargePeriodStart', 'ProviderName'],
    ['10', 'EUR', 'Usage', '2026-09-01T00:00:00Z', 'OpenAI'],
  )
  await expect(read(text)).rejects.toThrow('the amount is in EUR, which has no rate to USD')
  const { rows } = await read(text, new Map([['EUR', decimalOfText('1.0834')]]))
  expect(rows).toMatchObject([{ amountPico: 10_834_000_000_000n }])
})

test.each([
  ['2026-09-01T00:30:00+02:00', '2026-08-31'],
  ['2026-09-01 23:30:00.123456 UTC', '2026-09-01'],
  ['2026-09-01T23:30:00-0100', '2026-09-02'],
  ['2026-09-01', '2026-09-01'],
  ['1788220800', '2026-09-01'],
  ['9/1/2026', '2026-09-01'],
])('the day of %s is %s', (written, day) => {
  expect(dayOf(written)).toBe(day)
})

test.each([
  '',
  '2026-02-30',
  '13/01/2026',
  'yesterday',
  '2026-09-01T99:99:99+01:00',
])('%j cannot be a day', (written) => {
  expect(() => dayOf(written)).toThrow('is not a day')
})

test.each([
  ['2', '1K tokens', 2_000_000_000n],
  ['0.0000005', '1M', 500_000n],
  ['3', 'Hrs', 3_000_000n],
  ['3', '1 hour', 3_000_000n],
  ['1', '1000 tokens', 1_000_000_000n],
  ['', '1K', null],
])('a quantity of %j at %j is %s millionths', (written, unit, micro) => {
  expect(quantityOf(written, unit)).toBe(micro)
})

const OURS = [
  ...['gpt-4o-2024-08-06', 'gpt-4o-mini-2024-07-18', 'gpt-4.1', 'claude-sonnet-4-20250514'],
  ...['anthropic.claude-3-5-sonnet-20241022-v2:0', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ...[
    'gemini-2.5-pro',
    'gemini-2.5-flash',
    'gemini-2.0-flash',
    'amazon.nova-lite-v1:0',
    'us.deepseek.r1-v1:0',
  ],
]

test.each([
  ['gpt-4o-2024-08-06, cached input', 'gpt-4o-2024-08-06'],
  ['gpt-4o-0806-Inp-glbl Tokens', 'gpt-4o-2024-08-06'],
  ['gpt-4o-mini-0718-Outp-regnl Tokens', 'gpt-4o-mini-2024-07-18'],
  ['gpt-4o-audio-preview, input', null],
  ['gpt-4, input', null],
  ['gpt 4.1 Inp glbl', 'gpt-4.1'],
  ['gpt 4.1 mini Inp glbl', null],
  ['USE1-Claude3.5Sonnet-input-tokens', 'anthropic.claude-3-5-sonnet-20241022-v2:0'],
  ['USE1-Claude3Sonnet-input-tokens', null],
  ['Claude Sonnet 4.5 (Amazon Bedrock Edition)', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ['claude-sonnet-4-20250514', 'claude-sonnet-4-20250514'],
  ['Gemini 2.5 Flash Text Output - Predictions', 'gemini-2.5-flash'],
  ['Gemini 2.5 Flash Lite Text Output - Predictions', null],
  ['Web Search Usage', null],
  ['USE1-NovaLite-input-tokens', 'amazon.nova-lite-v1:0'],
  ['USE1-NovaPro-input-tokens', null],
  ['DeepSeek-R1-output-tokens', 'us.deepseek.r1-v1:0'],
  ['Gemini 2.0 Flash Text Input - Predictions', 'gemini-2.0-flash'],
])('%s is of our model %s', (service, model) => {
  expect(modelIn(service, OURS)).toBe(model)
})

test.each([
  ['input', 'USE1-Claude3Sonnet-input-tokens'],
  ['cache_write', 'CacheWriteInputTokenCount'],
  ['search', 'Grounding with Google Search'],
  [null, 'o3-deep-research'],
  [null, 'vector store storage'],
])('the class %s is in %s', (found, words) => {
  expect(classIn(words)).toBe(found)
})

test('rows are the same however their bytes arrive, quoted line breaks and two-byte letters too', async () => {
  const text = csv(
    [
      'BilledCost',
      'BillingCurrency',
      'ChargeCategory',
      'ChargePeriodStart',
      'ProviderName',
      'ChargeDescription',
    ],
    ['1', 'USD', 'Usage', '2026-09-01', 'OpenAI', 'größer,\n"a ""b"'],
    ['2', 'USD', 'Usage', '2026-09-02', 'OpenAI', 'plain'],
  )
  const whole = await read(text)
  expect(whole.lines).toEqual([2, 4])
  expect(whole.rows.map(({ service }) => service)).toEqual(['größer,\n"a ""b"', 'plain'])
  const bytes = Buffer.from(`\ufeff${text}`)
  for (const size of [1, 2, 7, 50]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    )
    expect(await read(Readable.from(chunks))).toEqual(whole)
  }
})

test.each([
  ['a,b', ['a', 'b']],
  ['"a,b",,"c"', ['a,b', '', 'c']],
  ['"",', ['', '']],
  ['"open', ['open']],
  ['"a"b,c', ['a', 'c']],
])('the cells of %j are %j', (row, cells) => {
  expect(cellsOf(row)).toEqual(cells)
})

const COLUMNS = 'ChargePeriodStart,BillingCurrency,ProviderName,ChargeCategory,BilledCost,Tags'

test.each([
  ['in an amount', '2026-09-01,USD,OpenAI,Usage,12.3'],
  ['in a quoted text', '2026-09-01,USD,OpenAI,Usage,12.34,"team'],
])('a file that is cut %s is not taken for a whole one', async (_where, row) => {
  await expect(read(`${COLUMNS}\n2026-09-01,USD,OpenAI,Usage,1,x\n${row}`)).rejects.toThrow(
    /^line 3 .*the file may be cut$/,
  )
})

test('a comma that is not quoted moves no cell under another column', async () => {
  const row = '2026-09-01,USD,OpenAI,Usage,1,234.50,x'
  await expect(read(`${COLUMNS}\n${row}`)).rejects.toThrow('line 2 has more cells than there are columns')
  expect((await read(`${COLUMNS}\n2026-09-01,USD,OpenAI,Usage,1,x,,`)).rows).toHaveLength(1)
})

test('each line break in a quoted cell is looked at once', async () => {
  const text = `${COLUMNS}\n2026-09-01,USD,OpenAI,Usage,1,"${'\n'.repeat(900_000)}"\n`
  const { rows, lines } = await read(`${text}2026-09-02,USD,OpenAI,Usage,1,x`)
  expect([rows.length, lines]).toEqual([2, [2, 900_003]])
})

test.each(['1e40', '-1e40'])('%s is neither an amount nor a quantity', (written) => {
  expect(() => amountOf(written, 'USD', NO_RATES)).toThrow(BadRow)
  expect(() => quantityOf(written)).toThrow(BadRow)
})

test('a quote that is never closed does not fill memory', async () => {
  const endless = Readable.from(
    (function* () {
      yield Buffer.from('BilledCost,x\n"')
      for (;;) yield Buffer.alloc(100_000, 'a')
    })(),
  )
  await expect(read(endless)).rejects.toThrow('line 2 has no end')
})

test.each([
  ['objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ['lists', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['data', '{"data":['.repeat(10_000) + ']}'.repeat(10_000)],
])('%s in one another without end are refused', async (_name, text) => {
  await expect(read(text)).rejects.toThrow('line 1 is not an object of an invoice')
})

test('a packed file is read as what is in it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-'))
  try {
    for (const [name, bytes] of [
      ['plain', Buffer.from(JSON.stringify(OPENAI))],
      ['packed', gzipSync(JSON.stringify(OPENAI))],
    ] as const) {
      await writeFile(join(folder, name), bytes)
      expect((await read(await openInvoiceFile(join(folder, name)))).rows).toHaveLength(2)
    }
    await expect(openInvoiceFile(join(folder, 'none'))).rejects.toThrow('cannot be read')
  } finally {
    await rm(folder, { recursive: true })
  }
})
