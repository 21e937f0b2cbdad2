import { picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import { corrected } from '../daily-row.ts'
import type { CountField } from '../metrics-table.ts'
import { csvLine, type ExportedDay, laterDimensions, safeName } from './export-columns.ts'

/**
 * The columns of the FinOps Open Cost and Usage Specification, 1.2 (https://focus.finops.org), that apply to
 * model traffic, in the order in which they are written.
 */
const COLUMNS = [
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingAccountType',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'EffectiveCost',
  'InvoiceIssuerName',
  'ListCost',
  'PricingCategory',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'ResourceId',
  'ResourceName',
  'ResourceType',
  'ServiceCategory',
  'ServiceName',
  'SkuId',
  'SkuPriceId',
  'SubAccountId',
  'SubAccountName',
  'Tags',
] as const

/** One charge, as text. */
type FocusCharge = Readonly<Record<(typeof COLUMNS)[number], string>>

export const FOCUS_HEADER = csvLine(COLUMNS)

/** The lines of one row of totals: what was metered, and apart from it what corrections added. */
export function focusRows(row: ExportedDay): string {
  const charges = [
    ...(row.requests + row.settlements > 0n ? [usageCharge(row)] : []),
    ...(row.adjustedPico === 0n ? [] : [correction(row)]),
  ]
  return charges.map((charge) => csvLine(COLUMNS.map((column) => charge[column]))).join('')
}

function usageCharge(row: ExportedDay): FocusCharge {
  const tokens = row.inputTokens + row.outputTokens
  const consumed =
    tokens > 0n ? { quantity: tokens, unit: 'Tokens' } : { quantity: row.requests, unit: 'Requests' }
  return {
    ...base(row, row.costPico),
    ChargeCategory: 'Usage',
    ChargeClass: '',
    ChargeDescription: safeName(`${row.model}: ${row.requests} requests, ${tokens} tokens`),
    ChargeFrequency: 'Usage-Based',
    ConsumedQuantity: `${consumed.quantity}`,
    ConsumedUnit: consumed.unit,
    PricingCategory: 'Standard',
    PricingQuantity: `${consumed.quantity}`,
    PricingUnit: consumed.unit,
    Tags: JSON.stringify({ ...countTags(row), ...laterTags(row) }),
  }
}

function correction(row: ExportedDay): FocusCharge {
  return {
    ...base(row, row.adjustedPico),
    ChargeCategory: 'Adjustment',
    ChargeClass: 'Correction',
    ChargeDescription: safeName(`${row.model}: correction of cost`),
    ChargeFrequency: 'One-Time',
    ConsumedQuantity: '',
    ConsumedUnit: '',
    PricingCategory: '',
    PricingQuantity: '',
    PricingUnit: '',
    Tags: JSON.stringify(laterTags(row)),
  }
}

type Base = Omit<
  FocusCharge,
  | 'ChargeCategory'
  | 'ChargeClass'
  | 'ChargeDescription'
  | 'ChargeFrequency'
  | 'ConsumedQuantity'
  | 'ConsumedUnit'
  | 'PricingCategory'
  | 'PricingQuantity'
  | 'PricingUnit'
  | 'Tags'
>

function base(row: ExportedDay, pico: bigint): Base {
  const cost = picoToUsdText(pico)
  const upstream = row.upstream === '' ? 'tallygate' : row.upstream
  const provider = row.provider === '' ? 'tallygate' : row.provider
  const month = `${row.day.slice(0, 7)}-01`
  return {
    BilledCost: cost,
    BillingAccountId: safeName(upstream),
    BillingAccountName: safeName(upstream),
    BillingAccountType: 'Upstream',
    BillingCurrency: 'USD',
    BillingPeriodEnd: midnight(`${addDays(month, 31).slice(0, 7)}-01`),
    BillingPeriodStart: midnight(month),
    ChargePeriodEnd: midnight(addDays(row.day, 1)),
    ChargePeriodStart: midnight(row.day),
    ContractedCost: cost,
    EffectiveCost: cost,
    InvoiceIssuerName: provider,
    ListCost: cost,
    ProviderName: provider,
    PublisherName: provider,
    ResourceId: row.keyId,
    ResourceName: safeName(row.keyName ?? ''),
    ResourceType: row.keyId === '' ? '' : 'API key',
    ServiceCategory: 'AI and Machine Learning',
    ServiceName: provider,
    SkuId: safeName(row.model),
    SkuPriceId: safeName(row.priceId),
    SubAccountId: row.clientId,
    SubAccountName: safeName(row.clientName ?? ''),
  }
}

function midnight(day: UtcDay): string {
  return `${day}T00:00:00Z`
}

/** The counts in `Tags`, in their order; what is 0 is left out. */
const COUNT_TAGS = [
  ['requests', 'requests'],
  ['errors', 'errors'],
  ['estimated_requests', 'estimated'],
  ['unpriced_requests', 'unpriced'],
  ['input_tokens', 'inputTokens'],
  ['cache_read_tokens', 'cacheReadTokens'],
  ['cache_write_tokens', 'cacheWriteTokens'],
  ['output_tokens', 'outputTokens'],
  ['reasoning_tokens', 'reasoningTokens'],
] as const satisfies readonly (readonly [tag: string, field: CountField])[]

function countTags(row: ExportedDay): Readonly<Record<string, string>> {
  const counts = COUNT_TAGS.map(([tag, field]) => [tag, corrected(row, field)] as const)
  return Object.fromEntries(counts.filter(([, count]) => count > 0n).map(([tag, count]) => [tag, `${count}`]))
}

function laterTags(row: ExportedDay): Readonly<Record<string, string>> {
  return laterDimensions(({ field }) => row[field])
}
