import { decimalOfText } from '../../domain/decimal.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import type { Price } from '../../pricing/price.ts'
import { type CostLine, costLinesOf } from '../cost-lines.ts'
import { corrected, sumsOfRow } from '../daily-row.ts'
import { csvLine, safeName } from './csv-text.ts'
import { type ExportedDay, laterDimensions } from './export-columns.ts'

/** Of the FinOps Open Cost and Usage Specification (https://focus.finops.org). */
export type FocusVersion = '1.2' | '1.3'

/** The columns that apply to model traffic, in the order in which they are written; behind them our own. */
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
  'CommitmentDiscountStatus',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'ContractedUnitPrice',
  'EffectiveCost',
  'HostProviderName',
  'InvoiceId',
  'InvoiceIssuerName',
  'ListCost',
  'ListUnitPrice',
  'PricingCategory',
  'PricingCurrency',
  'PricingCurrencyContractedUnitPrice',
  'PricingCurrencyEffectiveCost',
  'PricingCurrencyListUnitPrice',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'ResourceId',
  'ResourceName',
  'ResourceType',
  'ServiceCategory',
  'ServiceName',
  'ServiceProviderName',
  'ServiceSubcategory',
  'SkuId',
  'SkuMeter',
  'SkuPriceDetails',
  'SkuPriceId',
  'SubAccountId',
  'SubAccountName',
  'Tags',
  'x_Model',
  'x_PriceId',
] as const

type Column = (typeof COLUMNS)[number]

/** Prices are in the currency of the bill, so that these columns repeat others. */
const REPEATED: Partial<Record<Column, Column>> = {
  PricingCurrency: 'BillingCurrency',
  PricingCurrencyContractedUnitPrice: 'ContractedUnitPrice',
  PricingCurrencyEffectiveCost: 'EffectiveCost',
  PricingCurrencyListUnitPrice: 'ListUnitPrice',
}

/** What 1.3 added. */
const ADDED: ReadonlySet<Column> = new Set(['HostProviderName', 'ServiceProviderName'])

function columnsOf(version: FocusVersion): readonly Column[] {
  return version === '1.2' ? COLUMNS.filter((column) => !ADDED.has(column)) : COLUMNS
}

/** One charge, as text. Without a value: null. */
type FocusCharge = Readonly<Partial<Record<Column, string>>>

export function focusHeader(version: FocusVersion): string {
  return csvLine(columnsOf(version))
}

/** A row of totals, and of its corrections those that were made after the month that they correct. */
export interface FocusDay extends ExportedDay {
  readonly correctedLaterPico: bigint
}

/**
 * The charges of one row of totals: one for each line of its cost, one for its calls without a price, and one each for
 * what corrected it within its month and later. Their costs add up to the row's to the pico-dollar.
 *
 * @param price `null`: the row has none, or its definition is not kept.
 */
export function focusRows(row: FocusDay, price: Price | null, version: FocusVersion): string {
  const unpriced = corrected(row, 'unpriced')
  const charges = [
    ...costLinesOf(row.costPico, sumsOfRow(row), price).map((line) => usageCharge(row, price, line)),
    ...(unpriced > 0n ? [unpricedCharge(row, unpriced)] : []),
    ...correction(row, row.adjustedPico - row.correctedLaterPico, ''),
    ...correction(row, row.correctedLaterPico, 'Correction'),
  ]
  const columns = columnsOf(version)
  return charges
    .map((charge) => csvLine(columns.map((column) => charge[REPEATED[column] ?? column] ?? '')))
    .join('')
}

function usageCharge(row: FocusDay, price: Price | null, line: CostLine): FocusCharge {
  const measure = measureOf(line)
  const linear = price?.definition.basis === 'linear' ? price.definition : null
  const sku = linear === null ? skuOf(row, line.name) : `${linear.provider}/${linear.model}/${line.name}`
  const onePico = measure.unitPico / measure.per
  const listUnitPico =
    linear === null ? measure.unitPico : withoutFactor(onePico, linear.factor) * measure.per
  return {
    ...base(row, line.amountPico),
    ...usage(row, line.name, sku, `${row.priceId === '' ? 'unknown' : row.priceId}/${sku}`),
    ChargeDescription: safeName(`${row.model}: ${line.name}`),
    ConsumedQuantity: measure.consumed,
    ConsumedUnit: measure.consumedUnit,
    ContractedUnitPrice: picoToUsdText(measure.unitPico),
    ListCost: picoToUsdText((listUnitPico * measure.quantityPico) / PICO),
    ListUnitPrice: picoToUsdText(listUnitPico),
    PricingQuantity: picoToUsdText(measure.quantityPico),
    PricingUnit: measure.unit,
    SkuPriceDetails: JSON.stringify({
      x_Class: line.name,
      ...(linear === null
        ? {}
        : {
            x_Model: linear.model,
            x_Source: linear.source,
            ...(linear.serviceTier === null ? {} : { x_ServiceTier: linear.serviceTier }),
            ...(linear.from === null ? {} : { x_From: linear.from }),
            ...(linear.hours === null ? {} : { x_Hours: linear.hours }),
            ...(linear.context === null ? {} : { x_ContextTokensAbove: `${linear.context.above}` }),
            ...(linear.factor === '1' ? {} : { x_Factor: linear.factor }),
          }),
    }),
  }
}

/** Calls that used something and have no price: they have a quantity and no cost. */
function unpricedCharge(row: FocusDay, calls: bigint): FocusCharge {
  const sku = skuOf(row, UNPRICED)
  const count = { ConsumedQuantity: `${calls}`, ConsumedUnit: 'Requests' }
  return {
    ...base(row, 0n),
    ...usage(row, UNPRICED, sku, `${row.priceId === '' ? UNPRICED : row.priceId}/${sku}`),
    ...count,
    ChargeDescription: safeName(`${row.model}: calls without a price`),
    ContractedUnitPrice: '0',
    ListUnitPrice: '0',
    PricingQuantity: count.ConsumedQuantity,
    PricingUnit: count.ConsumedUnit,
    SkuPriceDetails: JSON.stringify({ x_Class: UNPRICED }),
  }
}

const UNPRICED = 'unpriced'

function usage(row: FocusDay, meter: string, sku: string, skuPrice: string) {
  return {
    ChargeCategory: 'Usage',
    ChargeFrequency: 'Usage-Based',
    PricingCategory: 'Standard',
    SkuId: safeName(sku),
    SkuMeter: meter,
    SkuPriceId: safeName(skuPrice),
    x_PriceId: safeName(row.priceId),
  }
}

function correction(row: FocusDay, pico: bigint, chargeClass: '' | 'Correction'): FocusCharge[] {
  if (pico === 0n) return []
  return [
    {
      ...base(row, pico),
      ChargeCategory: 'Adjustment',
      ChargeClass: chargeClass,
      ChargeDescription: safeName(`${modelOf(row) || 'all models'}: correction of cost`),
      ChargeFrequency: 'One-Time',
    },
  ]
}

/** What every charge says; a correction has neither quantity nor SKU. */
function base(row: FocusDay, pico: bigint): FocusCharge {
  const cost = picoToUsdText(pico)
  const upstream = row.upstream === '' ? 'tallygate' : row.upstream
  const provider = providerOf(row)
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
    HostProviderName: provider,
    // The statement of the client and month, which this is a part of.
    InvoiceId: `${row.clientId}/${row.day.slice(0, 7)}`,
    InvoiceIssuerName: provider,
    ListCost: cost,
    ProviderName: provider,
    PublisherName: provider,
    ResourceId: row.keyId,
    ResourceName: safeName(row.keyName ?? ''),
    ResourceType: row.keyId === '' ? '' : 'API key',
    ServiceCategory: 'AI and Machine Learning',
    ServiceName: provider,
    ServiceProviderName: provider,
    ServiceSubcategory: 'Generative AI',
    SubAccountId: row.clientId,
    // A client that is gone has no name, and the specification wants one.
    SubAccountName: safeName(row.clientName ?? row.clientId),
    Tags: JSON.stringify(laterDimensions(({ field }) => row[field])),
    x_Model: safeName(modelOf(row)),
  }
}

function providerOf({ provider }: FocusDay): string {
  return provider === '' ? 'tallygate' : provider
}

/** ''; a name in parentheses is ours, and names no model. */
function modelOf({ model }: FocusDay): string {
  return /^\(.*\)$/.test(model) ? '' : model
}

/** The SKU of a cost that rates do not give: by the model that answered. */
function skuOf(row: FocusDay, meter: string): string {
  return `${providerOf(row)}/${modelOf(row) || 'any'}/${meter}`
}

/** 1 with 12 places, as amounts are kept. */
const PICO = 1_000_000_000_000n
const MILLION = 1_000_000n
const SECOND_MS = 1_000n

interface Measure {
  readonly consumed: string
  readonly consumedUnit: string
  readonly unit: string
  /** How many of what has a rate are one unit. */
  readonly per: bigint
  /** The quantity times 1e12. Times `unitPico` it gives the amount without a remainder. */
  readonly quantityPico: bigint
  readonly unitPico: bigint
}

/** A line in units of the specification: a million of what is counted, a second, or a request. */
function measureOf({ class: rate, quantity, unit, unitPico, amountPico }: CostLine): Measure {
  // A cost that rates do not give is so many dollars, each at one dollar.
  if (rate === null || unitPico === null)
    return {
      ...{ consumed: `${quantity}`, consumedUnit: 'Requests' },
      ...{ unit: 'USD', per: 1n, quantityPico: amountPico, unitPico: PICO },
    }
  const [, counted] = /^M (.*)$/.exec(unit) ?? []
  if (counted !== undefined) {
    const plural = counted.charAt(0).toUpperCase() + counted.slice(1)
    return {
      ...{ consumed: `${quantity}`, consumedUnit: plural },
      ...{ unit: `${MILLION} ${plural}`, per: MILLION, quantityPico: quantity * (PICO / MILLION), unitPico },
    }
  }
  if (rate === 'request') {
    const counted = { consumed: `${quantity}`, consumedUnit: 'Requests', unit: 'Requests' }
    return { ...counted, per: 1n, quantityPico: quantity * PICO, unitPico }
  }
  // Milliseconds: an hour would leave fractions without an end.
  const quantityPico = quantity * (PICO / SECOND_MS)
  return {
    ...{ consumed: picoToUsdText(quantityPico), consumedUnit: 'Seconds', unit: 'Seconds' },
    ...{ per: SECOND_MS, quantityPico, unitPico: (amountPico * SECOND_MS) / quantity },
  }
}

/** A rate for one, without the markup that is in it, to the nearest pico-dollar. */
function withoutFactor(pico: bigint, factor: string): bigint {
  const { digits, scale } = decimalOfText(factor)
  if (digits === 0n) return pico
  const ones = 10n ** BigInt(scale)
  return (2n * pico * ones + digits) / (2n * digits)
}

function midnight(day: UtcDay): string {
  return `${day}T00:00:00Z`
}
