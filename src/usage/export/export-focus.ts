import type { Decimal } from '#prices/decimal.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import type { ContractTerms } from '../../pricing/contracts/contract.ts'
import {
  addCosts,
  contractedRate,
  costsOfLine,
  listedLine,
  NO_COSTS,
  type OperatorCosts,
} from '../../pricing/contracts/three-costs.ts'
import type { Price } from '../../pricing/price.ts'
import { type CostLine, costLinesOf } from '../cost-lines.ts'
import { costsOfRepricing, type RepricedCosts } from '../costs/operator-costs.ts'
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
export type FocusCharge = Readonly<Partial<Record<Column, string>>>

export function focusHeader(version: FocusVersion): string {
  return csvLine(columnsOf(version))
}

/** A row of totals and its corrections. */
export interface FocusDay extends ExportedDay {
  readonly corrections: readonly FocusCorrection[]
  /** The name of the group that the client was in on the day; absent or `null`: none. */
  readonly clientGroup?: string | null
}

/** What corrected a row, in all that was done within its month or later. */
export interface FocusCorrection extends RepricedCosts {
  /** It was made when the month was over. */
  readonly isLater: boolean
  readonly isRepricing: boolean
}

export interface FocusPrices {
  /** `null`: the row has none, or its definition is not kept. */
  readonly price: Price | null
  /** The markups that are in its cost. */
  readonly markup: Decimal
  readonly terms: ContractTerms
  /** Those of parts of calls that several models served. */
  readonly all: ReadonlyMap<string, Price>
}

/**
 * The charges of one row of totals: one for each line of its cost, one for its calls without a price, and one each for
 * what corrected it within its month and later. Their costs add up to the row's to the pico-dollar.
 */
export function focusRows(row: FocusDay, priced: FocusPrices, version: FocusVersion): string {
  const { price } = priced
  const unpriced = corrected(row, 'unpriced')
  const charges = [
    ...costLinesOf(row.costPico, sumsOfRow(row), price).map((line) => usageCharge(row, priced, line)),
    ...(unpriced > 0n ? [unpricedCharge(row, unpriced)] : []),
    ...correction(row, priced, false),
    ...correction(row, priced, true),
  ]
  return focusText(charges, version)
}

/** Charges as lines of CSV. */
export function focusText(charges: readonly FocusCharge[], version: FocusVersion): string {
  const columns = columnsOf(version)
  return charges
    .map((charge) => csvLine(columns.map((column) => charge[REPEATED[column] ?? column] ?? '')))
    .join('')
}

function usageCharge(row: FocusDay, { price, markup, terms }: FocusPrices, line: CostLine): FocusCharge {
  const measure = measureOf(line)
  const costs = costsOfLine(line, markup, terms)
  const listed = listedLine(line, markup)
  const linear = price?.definition.basis === 'linear' ? price.definition : null
  const sku = linear === null ? skuOf(row, line.name) : `${linear.provider}/${linear.model}/${line.name}`
  // Of a whole cost each dollar at list price is one dollar, or what the contract makes of it.
  const isWhole = listed === null || line.unitPico === null
  const quantityPico = isWhole ? costs.listPico : measure.quantityPico
  const listUnitPico = isWhole ? PICO : listed.listRatePico * measure.per
  const contractedUnitPico = isWhole
    ? (PICO * terms.factor.digits) / 10n ** BigInt(terms.factor.scale)
    : contractedRate(listed, terms) * measure.per
  return {
    ...base(row, line.amountPico, costs),
    ...usage(row, line.name, sku, `${row.priceId === '' ? 'unknown' : row.priceId}/${sku}`),
    ChargeDescription: safeName(`${row.model}: ${line.name}`),
    ConsumedQuantity: measure.consumed,
    ConsumedUnit: measure.consumedUnit,
    ContractedUnitPrice: picoToUsdText(contractedUnitPico),
    ListUnitPrice: picoToUsdText(listUnitPico),
    PricingQuantity: picoToUsdText(quantityPico),
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
    ...base(row, 0n, NO_COSTS),
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

function correction(row: FocusDay, { price, all, terms }: FocusPrices, isLater: boolean): FocusCharge[] {
  const made = row.corrections.filter((one) => one.isLater === isLater)
  // What no entry says was corrected in the month, as by releases before there were any.
  const rest = isLater ? 0n : row.adjustedPico - row.corrections.reduce((sum, { pico }) => sum + pico, 0n)
  const pico = made.reduce((sum, one) => sum + one.pico, rest)
  const costs = made
    .filter(({ isRepricing }) => isRepricing)
    .map((one) => costsOfRepricing(one, price, all, terms))
    .reduce(addCosts, NO_COSTS)
  if (pico === 0n && costs.listPico === 0n && costs.contractedPico === 0n) return []
  return [
    {
      ...base(row, pico, costs),
      ChargeCategory: 'Adjustment',
      ChargeClass: isLater ? 'Correction' : '',
      ChargeDescription: safeName(`${modelOf(row) || 'all models'}: correction of cost`),
      ChargeFrequency: 'One-Time',
    },
  ]
}

/** What every charge says; a correction has neither quantity nor SKU. */
export function base(row: FocusDay, pico: bigint, costs: OperatorCosts): FocusCharge {
  const contracted = picoToUsdText(costs.contractedPico)
  const upstream = row.upstream === '' ? 'tallygate' : row.upstream
  const provider = providerOf(row)
  const month = `${row.day.slice(0, 7)}-01`
  return {
    BilledCost: picoToUsdText(pico),
    BillingAccountId: safeName(upstream),
    BillingAccountName: safeName(upstream),
    BillingAccountType: 'Upstream',
    BillingCurrency: 'USD',
    BillingPeriodEnd: midnight(`${addDays(month, 31).slice(0, 7)}-01`),
    BillingPeriodStart: midnight(month),
    ChargePeriodEnd: midnight(addDays(row.day, 1)),
    ChargePeriodStart: midnight(row.day),
    ContractedCost: contracted,
    EffectiveCost: contracted,
    HostProviderName: provider,
    // The statement of the client and month, which this is a part of.
    InvoiceId: `${row.clientId}/${row.day.slice(0, 7)}`,
    InvoiceIssuerName: provider,
    ListCost: picoToUsdText(costs.listPico),
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
    Tags: JSON.stringify({
      ...laterDimensions(({ field }) => row[field]),
      ...((row.clientGroup ?? null) === null ? {} : { group: row.clientGroup }),
    }),
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

function midnight(day: UtcDay): string {
  return `${day}T00:00:00Z`
}
