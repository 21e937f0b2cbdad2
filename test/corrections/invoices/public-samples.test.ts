import { expect, test } from 'vitest'
import { azurePlace } from '../../../src/corrections/invoices/formats/clouds.ts'
import type { InvoiceRow } from '../../../src/corrections/invoices/invoice-row.ts'
import { classIn, modelIn, tierIn } from '../../../src/corrections/invoices/invoice-words.ts'
import { csv, readInvoice } from './read-invoice.ts'

/**
 * Rows of our own with the shapes of public samples: the FinOps Foundation's FOCUS-Sample-Data (1.0), AWS's page on
 * Bedrock in the Cost and Usage Report, Google's pages of SKUs, Azure's retail prices.
 */

const FOCUS = [
  ...[
    'AvailabilityZone',
    'BilledCost',
    'BillingCurrency',
    'ChargeCategory',
    'ChargeClass',
    'ChargeDescription',
  ],
  ...['ChargePeriodStart', 'CommitmentDiscountId', 'ConsumedQuantity', 'ConsumedUnit', 'PricingQuantity'],
  ...['PricingUnit', 'ProviderName', 'RegionId', 'ServiceName', 'SubAccountId'],
]

function focus(provider: string, service: string, description: string, ...quantity: readonly string[]) {
  return [
    ...['NULL', '0.00000080000', 'USD', 'Usage', 'NULL', description, '2024-09-18 22:00:00', 'NULL'],
    ...[...quantity, provider, 'us-west-2', service, '51738928782'],
  ]
}

test('a FOCUS file of many clouds has NULL in empty cells, and services and clouds that serve no models', async () => {
  const sqs = '$0.40 per million Amazon SQS standard requests in Tier1 in US West (Oregon)'
  const { format, rows } = await readInvoice(
    csv(
      FOCUS,
      focus('AWS', 'Amazon Simple Queue Service', sqs, '2', 'Requests', '2', 'Requests'),
      focus('Oracle', 'Block Storage', 'Block Volume', 'NULL', 'NULL', '1', 'GB'),
      focus('AWS', 'Amazon Bedrock', 'USW2-NovaLite-output-tokens', 'NULL', 'NULL', '0.5', '1K tokens'),
    ),
  )
  expect(format).toBe('focus')
  expect(rows).toMatchObject([
    {
      ...{ biller: 'aws', day: '2024-09-18', kind: 'usage', class: 'output', place: 'us-west-2' },
      ...{ account: '51738928782', quantityMicro: 500_000_000n, unit: '1K tokens', amountPico: 800_000n },
    },
  ] satisfies readonly Partial<InvoiceRow>[])
})

test('a model that no known provider bills is refused until it is said whose it is', async () => {
  const row = focus('Acme Resale', 'OpenAI through Acme', 'gpt-4o input', '2', 'Tokens', '2', 'Tokens')
  await expect(readInvoice(csv(FOCUS, row))).rejects.toThrow(
    'ProviderName "Acme Resale" is none that is known',
  )
})

test("the model of what AWS's marketplace sells is in the name of the product alone", async () => {
  const { rows } = await readInvoice(
    csv(
      [
        ...['line_item_usage_start_date', 'line_item_line_item_type', 'line_item_product_code'],
        ...['line_item_usage_type', 'line_item_usage_amount', 'line_item_currency_code'],
        ...['line_item_unblended_cost', 'pricing_unit', 'product'],
      ],
      [
        ...[
          '2026-09-30T23:00:00.000Z',
          'Usage',
          '3x4mpl3',
          'USW2-MP:USW2_InputTokenCount-Units',
          '3',
          'USD',
          '9',
        ],
        ...['Units', '{"product_name":"Claude Opus 4.6 (Amazon Bedrock Edition)","sku":"x"}'],
      ],
    ),
  )
  const [{ service = '' } = {}] = rows
  expect(service).toBe('Claude Opus 4.6 (Amazon Bedrock Edition) / USW2-MP:USW2_InputTokenCount-Units')
  expect(modelIn(service, OURS)).toBe('anthropic.claude-opus-4-6-v1:0')
})

const OURS = [
  ...['anthropic.claude-opus-4-6-v1:0', 'us.anthropic.claude-sonnet-4-6', 'anthropic.claude-opus-4-8'],
  ...[
    'us.meta.llama4-maverick-17b-instruct-v1:0',
    'qwen.qwen3-next-80b-a3b-instruct',
    'amazon.nova-2-lite-v1:0',
    'google.gemma-3-4b-it',
    'gpt-3.5-turbo',
  ],
  ...['openai.gpt-oss-120b-1:0', 'gpt-5', 'gpt-5.4', 'gpt-5.4-mini', 'gpt-5.5', 'DeepSeek-V4-Pro'],
  ...[
    'gemini-2.5-flash',
    'gemini-2.5-flash-lite',
    'gemini-3-flash-preview',
    'gemini-2.5-pro',
    'gemini-3.5-flash',
  ],
]

/** Names of meters and what they say: model, class, tier, place in Azure. */
test.each([
  ['USE1-Claude4.6Opus-input-tokens-cross-region-global', OURS[0], 'input', null],
  ['USE1-Claude4.6Sonnet-cache-read-input-token-count', OURS[1], 'cache_read', null],
  ['USE1-Claude4.6Sonnet-cache-write-input-token-count-1-hour', OURS[1], 'cache_write', null],
  ['USW2-anthropic.claude-opus-4-8-mantle-cachewrite-tokens-global-standard', OURS[2], 'cache_write', null],
  [
    'USE1-Llama4-Maverick-17B-input-tokens-batch',
    'us.meta.llama4-maverick-17b-instruct-v1:0',
    'input',
    'batch',
  ],
  [
    'EU-qwen.qwen3-next-80b-a3b-instruct-mantle-output-tokens-flex',
    'qwen.qwen3-next-80b-a3b-instruct',
    'output',
    'flex',
  ],
  ['USE1-Nova2.0Lite-input-tokens-flex', 'amazon.nova-2-lite-v1:0', 'input', 'flex'],
  ['USE1-gpt-oss-120b-output-tokens-priority', 'openai.gpt-oss-120b-1:0', 'output', 'priority'],
  ['USE1-Gemma-3-4B-IT-input-tokens-flex', 'google.gemma-3-4b-it', 'input', 'flex'],
  ['USE1-Claude4Opus-output-tokens', null, 'output', null],
  ['gpt-3.5-turbo-instruct, input', null, 'input', null],
  ['Gemini 2.5 Flash GA Text Input - Predictions', 'gemini-2.5-flash', 'input', null],
  ['Gemini 2.5 Flash GA Thinking Text Output - Predictions', 'gemini-2.5-flash', 'output', null],
  [
    'Gemini 2.5 Flash GA Text Output (Thinking On) - Batch Predictions',
    'gemini-2.5-flash',
    'output',
    'batch',
  ],
  [' Gemini 2.5 Flash GA Input Text Caching', 'gemini-2.5-flash', 'cache_read', null],
  [' Gemini 2.5 Flash Lite Input Text Caching', 'gemini-2.5-flash-lite', 'cache_read', null],
  ['Gemini 2.5 Pro Input Text Caching (Long)', 'gemini-2.5-pro', 'cache_read', null],
  ['Gemini 2.5 Pro Text Input Caching Storage', 'gemini-2.5-pro', null, null],
  ['Generate content input token count gemini 3.5 flash text', 'gemini-3.5-flash', 'input', null],
  ['Vertex AI: Provisioned Throughput 1 month', null, null, 'provisioned'],
] as const)('%s says what it bills', (meter, model, ofClass, tier) => {
  expect([modelIn(meter, OURS), classIn(meter), tierIn(meter)]).toEqual([model, ofClass, tier])
})

test.each([
  ['Azure OpenAI GPT5 GPT 5 outpt Glbl 1M Tokens', 'gpt-5', 'output', 'global'],
  ['Azure OpenAI GPT5 5.4 inp Gl 1M Tokens', 'gpt-5.4', 'input', 'global'],
  ['Azure OpenAI GPT5 5.4 mini cchd inp Gl 1M Tokens', 'gpt-5.4-mini', 'cache_read', 'global'],
  ['Azure OpenAI GPT5 5.5 ShortCo opt Dz 1M Tokens', 'gpt-5.5', 'output', 'data-zone'],
  ['Azure Deepseek Models V4 Pro Inp DZone Tokens', 'DeepSeek-V4-Pro', 'input', 'data-zone'],
] as const)('%s says what it bills, and where', (meter, model, ofClass, place) => {
  expect([modelIn(meter, OURS), classIn(meter), azurePlace(meter)]).toEqual([model, ofClass, place])
})
