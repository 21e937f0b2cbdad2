import { picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import { csvLine, safeName } from './export-csv.ts'
import type { ExportedDay } from './exported-day.ts'

/**
 * A charge in the columns of the FinOps Open Cost and Usage Specification, 1.2 (https://focus.finops.org), as far as
 * they apply to model traffic; in the order in which they are written.
 */
interface FocusCharge {
  readonly BilledCost: string
  readonly BillingAccountId: string
  readonly BillingAccountName: string
  readonly BillingAccountType: string
  readonly BillingCurrency: string
  readonly BillingPeriodEnd: string
  readonly BillingPeriodStart: string
  readonly ChargeCategory: 'Usage' | 'Adjustment'
  readonly ChargeClass: string
  readonly ChargeDescription: string
  readonly ChargeFrequency: string
  readonly ChargePeriodEnd: string
  readonly ChargePeriodStart: string
  readonly ConsumedQuantity: string
  readonly ConsumedUnit: string
  readonly ContractedCost: string
  readonly EffectiveCost: string
  readonly InvoiceIssuerName: string
  readonly ListCost: string
  readonly PricingCategory: string
  readonly PricingQuantity: string
  readonly PricingUnit: string
  readonly ProviderName: string
  readonly PublisherName: string
  readonly ResourceId: string
  readonly ResourceName: string
  readonly ResourceType: string
  readonly ServiceCategory: string
  readonly ServiceName: string
  readonly SkuId: string
  readonly SkuPriceId: string
  readonly SubAccountId: string
  readonly SubAccountName: string
  readonly Tags: string
}

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
] as const satisfies readonly (keyof FocusCharge)[]

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
  const tokens = row.sums.inputTokens + row.sums.outputTokens
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
    Tags: JSON.stringify(tagsOf(row)),
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
    Tags: '{}',
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
    SkuPriceId: safeName(row.priceId ?? ''),
    SubAccountId: row.clientId,
    SubAccountName: safeName(row.clientName ?? ''),
  }
}

function midnight(day: UtcDay): string {
  return `${day}T00:00:00Z`
}

/** What the columns have no place for; a count that is 0 is left out. */
function tagsOf({
  sums,
  requests,
  errors,
  estimated,
  unpriced,
}: ExportedDay): Readonly<Record<string, string>> {
  const counts = [
    ['requests', requests],
    ['errors', errors],
    ['estimated_requests', estimated],
    ['unpriced_requests', unpriced],
    ['input_tokens', sums.inputTokens],
    ['cache_read_tokens', sums.cacheReadTokens],
    ['cache_write_tokens', sums.cacheWriteTokens],
    ['output_tokens', sums.outputTokens],
    ['reasoning_tokens', sums.reasoningTokens],
  ] as const
  return Object.fromEntries(
    counts.filter(([, count]) => count > 0n).map(([name, count]) => [name, `${count}`]),
  )
}
