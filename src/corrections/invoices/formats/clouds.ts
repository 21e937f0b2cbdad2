import { amountOf, BadRow, dayOf, type InvoiceKind, type InvoiceRow, quantityOf } from '../invoice-row.ts'
import { classIn, servesModels, tierIn } from '../invoice-words.ts'
import { type InvoiceFormat, NOT_SAID, orNull } from './format.ts'

/** What the words of a meter say of a call. */
function saidOf(words: string, kind: InvoiceKind): Pick<InvoiceRow, 'class' | 'tier'> {
  return kind === 'usage' ? { class: classIn(words), tier: tierIn(words) ?? 'standard' } : NOT_SAID
}

const AWS_KINDS: Readonly<Record<string, InvoiceKind>> = {
  Tax: 'tax',
  Credit: 'credit',
  Refund: 'credit',
  Fee: 'purchase',
  RIFee: 'commitment',
  SavingsPlanRecurringFee: 'commitment',
  SavingsPlanUpfrontFee: 'commitment',
  SavingsPlanNegation: 'adjustment',
  BundledDiscount: 'adjustment',
  EdpDiscount: 'adjustment',
  PrivateRateDiscount: 'adjustment',
}

/**
 * Rows of AWS's Cost and Usage Report, 2.0 and the one before. Models of others than Amazon are sold by its
 * marketplace, so that `Bedrock` may stand in the name of a product alone.
 * https://docs.aws.amazon.com/cur/latest/userguide/table-dictionary-cur2.html
 */
export const AWS_CUR: InvoiceFormat = {
  name: 'aws-cur',
  title: "AWS's Cost and Usage Report",
  columns: ['line_item_usage_start_date', 'line_item_unblended_cost', 'line_item_line_item_type'],
  rowOf(cells, { rates }) {
    const usageType = cells.get('line_item_usage_type')
    const product = cells.get('product_product_name', 'product')
    const description = cells.get('line_item_line_item_description')
    const code = cells.get('line_item_product_code')
    if (!/bedrock/i.test(`${code} ${product} ${usageType} ${description}`)) return null
    const kind = AWS_KINDS[cells.get('line_item_line_item_type')] ?? 'usage'
    const words = `${usageType} ${description}`
    const unit = orNull(cells.get('pricing_unit'))
    return {
      ...NOT_SAID,
      biller: 'aws',
      day: dayOf(cells.get('line_item_usage_start_date')),
      service: [productNamed(product), usageType || description || code]
        .filter((part) => part !== '')
        .join(' / '),
      kind,
      ...saidOf(words, kind),
      place: /global/i.test(words) ? 'global' : orNull(cells.get('product_region_code', 'product_region')),
      account: orNull(cells.get('line_item_usage_account_id')),
      quantityMicro: quantityOf(cells.get('line_item_usage_amount'), unit ?? ''),
      unit,
      ...amountOf(cells.get('line_item_unblended_cost'), cells.get('line_item_currency_code'), rates),
    }
  },
}

/** Report 2.0 has a map in JSON there. Of what the marketplace sells, it alone names the model. */
function productNamed(product: string): string {
  if (!product.startsWith('{')) return product
  const [, name = ''] = /"product_name":\s*"([^"]*)"/.exec(product) ?? []
  return name === 'Amazon Bedrock' ? '' : name
}

const GOOGLE_KINDS: Readonly<Record<string, InvoiceKind>> = {
  tax: 'tax',
  adjustment: 'adjustment',
  rounding_error: 'adjustment',
}

/**
 * Rows of Google Cloud's billing export to BigQuery, as JSON lines or CSV. A row's credits are rows of their own here.
 * https://cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/standard-usage
 */
export const GOOGLE_BILLING: InvoiceFormat = {
  name: 'google-billing',
  title: "Google Cloud's billing export",
  columns: ['service.description', 'sku.description', 'usage_start_time', 'cost', 'currency'],
  rowOf(cells, { rates }) {
    const service = cells.get('service.description')
    const sku = cells.get('sku.description')
    if (!servesModels(`${service} ${sku}`)) return null
    const kind =
      GOOGLE_KINDS[cells.get('cost_type')] ?? (/commitment/i.test(sku) ? ('commitment' as const) : 'usage')
    const currency = cells.get('currency')
    const unit = orNull(cells.get('usage.pricing_unit', 'usage.unit'))
    const inUnits = cells.get('usage.amount_in_pricing_units')
    const row: InvoiceRow = {
      ...NOT_SAID,
      biller: 'google',
      day: dayOf(cells.get('usage_start_time')),
      service: sku || service,
      kind,
      ...saidOf(sku, kind),
      place: orNull(cells.get('location.region', 'location.location')),
      account: orNull(cells.get('project.id')),
      quantityMicro: quantityOf(inUnits || cells.get('usage.amount'), inUnits === '' ? '' : (unit ?? '')),
      unit,
      ...amountOf(cells.get('cost'), currency, rates),
    }
    return [row, ...creditsIn(cells.get('credits')).map((amount) => creditOf(row, amount, currency, rates))]
  },
}

function creditOf(
  row: InvoiceRow,
  amount: string,
  currency: string,
  rates: Parameters<typeof amountOf>[2],
): InvoiceRow {
  return {
    ...{ ...row, ...NOT_SAID, account: row.account, service: `credit for ${row.service}`, kind: 'credit' },
    ...amountOf(amount, currency, rates),
  }
}

/** Amounts in the JSON of a list of credits. @throws {BadRow} */
function creditsIn(json: string): readonly string[] {
  if (json === '') return []
  try {
    const credits: unknown = JSON.parse(json)
    if (Array.isArray(credits)) return credits.map((credit) => String(credit?.amount ?? ''))
  } catch {
    // Said below.
  }
  throw new BadRow('credits is not a list in JSON')
}

const AZURE_KINDS: Readonly<Record<string, InvoiceKind>> = {
  purchase: 'purchase',
  refund: 'credit',
  credit: 'credit',
  tax: 'tax',
  adjustment: 'adjustment',
  roundingadjustment: 'adjustment',
  unusedreservation: 'commitment',
}

/**
 * Rows of Azure's export of cost and usage details, for any kind of agreement. Meters are `gpt-4o-0806-Inp-glbl Tokens`.
 * https://learn.microsoft.com/azure/cost-management-billing/dataset-schema/cost-usage-details-mca
 */
export const AZURE_COSTS: InvoiceFormat = {
  name: 'azure-costs',
  title: "Azure's cost and usage details",
  columns: ['Date', 'MeterCategory', 'MeterName', 'Quantity', 'ChargeType'],
  rowOf(cells, { rates }) {
    const meter = [cells.get('MeterSubCategory'), cells.get('MeterName')].filter((part) => part !== '')
    const words = meter.join(' ')
    const named = `${cells.get('MeterCategory')} ${cells.get('ProductName')} ${words} ${cells.get('ConsumedService')}`
    if (!servesModels(named)) return null
    const charge = AZURE_KINDS[cells.get('ChargeType').toLowerCase()] ?? 'usage'
    const isReserved = cells.get('ReservationId', 'BenefitId') !== '' && charge === 'purchase'
    const kind = isReserved ? 'commitment' : charge
    const inUsd = cells.get('CostInUsd')
    const [amount, currency] =
      inUsd !== ''
        ? [inUsd, 'USD']
        : [
            cells.get('CostInBillingCurrency', 'PreTaxCost', 'Cost'),
            cells.get('BillingCurrencyCode', 'BillingCurrency', 'Currency'),
          ]
    const unit = orNull(cells.get('UnitOfMeasure'))
    return {
      ...NOT_SAID,
      biller: 'azure',
      day: dayOf(cells.get('Date')),
      service: words || cells.get('ProductName', 'MeterCategory'),
      kind,
      ...saidOf(words, kind),
      place: kind === 'usage' ? azurePlace(words) : null,
      account: orNull(cells.get('SubscriptionId', 'SubscriptionGuid')),
      quantityMicro: quantityOf(cells.get('Quantity'), unit ?? ''),
      unit,
      ...amountOf(amount, currency, rates),
    }
  },
}

/** Meters say where a deployment serves; those of old ones say nothing. */
export function azurePlace(words: string): string | null {
  if (/glbl|global|\bgl\b/i.test(words)) return 'global'
  if (/data ?zone|\bd?zone|\bdz/i.test(words)) return 'data-zone'
  return /regn|regional/i.test(words) ? 'regional' : null
}
