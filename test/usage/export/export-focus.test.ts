import { expect, test } from 'vitest'
import { parseUsdText, picoToUsdText } from '../../../src/domain/pico-usd.ts'
import { Contracts } from '../../../src/pricing/contracts/contract.ts'
import { markupIn } from '../../../src/pricing/contracts/three-costs.ts'
import type { Price } from '../../../src/pricing/price.ts'
import { sumsOfCall } from '../../../src/pricing/price-cost.ts'
import { parsePrice } from '../../../src/pricing/price-parse.ts'
import { dailyRowFrom } from '../../../src/usage/daily-row.ts'
import {
  type FocusDay,
  type FocusVersion,
  focusHeader,
  focusRows as rowsOf,
} from '../../../src/usage/export/export-focus.ts'
import { aRecord } from '../../rollup/records.ts'
import { callsOfAllCharges } from './all-charges.ts'

type Charge = Readonly<Record<string, string>>

function chargesOf(text: string): Charge[] {
  const [header = '', ...lines] = `${focusHeader('1.2')}${text}`.trimEnd().split('\r\n')
  return lines.map((line) => {
    const cells = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)]
    const values = cells.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
    return Object.fromEntries(header.split(',').map((column, index) => [column, values[index] ?? '']))
  })
}

/** 3 % off what is listed. */
const CONTRACTS = new Contracts([
  { id: '', upstream: null, model: null, serviceTier: null, from: '2026-01-01', factor: '0.97', prices: {} },
])

function focusRows(row: FocusDay, price: Price | null, version: FocusVersion): string {
  const all = new Map(price === null ? [] : [[price.id, price]])
  const terms = CONTRACTS.termsOf({ ...row, price: price?.definition ?? null })
  return rowsOf(row, { price, markup: markupIn(price, all), terms, all }, version)
}

interface Day {
  readonly row: FocusDay
  readonly price: Price | null
}

function dayOf(changes: ReturnType<typeof callsOfAllCharges>[number], rest: Partial<FocusDay> = {}): Day {
  const call = aRecord(changes)
  const names = { clientName: 'acme', keyName: null, clientGroup: null, corrections: [] }
  const unpriced = call.costPico === null && call.usage.inputTokens !== null ? 1n : 0n
  const row = {
    ...dailyRowFrom({}),
    ...sumsOfCall(call.usage, call.units),
    ...{ day: '2026-03-04', clientId: call.clientId, keyId: call.keyId, model: call.model ?? '' },
    ...{ upstream: call.upstream, provider: call.provider, priceId: call.priceId ?? '' },
    ...{ costPico: BigInt(call.costPico ?? 0), unpriced, ...names, ...rest },
  }
  return { row, price: call.price === null ? null : parsePrice(call.price) }
}

const DAYS = callsOfAllCharges().map((call) => dayOf(call))

function productOf(charge: Charge, price: string): bigint {
  return parseUsdText(charge[price] ?? '') * parseUsdText(charge.PricingQuantity ?? '')
}

const PICO = 1_000_000_000_000n

test('the charges of a row add up to its cost, and each is its quantity times its unit price, to the pico-dollar', () => {
  for (const { row, price } of DAYS) {
    const charges = chargesOf(focusRows(row, price, '1.2'))
    const sum = (column: string) =>
      charges.reduce((all, charge) => all + parseUsdText(charge[column] ?? ''), 0n)
    expect(sum('BilledCost'), `${row.provider} ${row.priceId}`).toBe(row.costPico)
    expect(sum('EffectiveCost')).toBe(sum('ContractedCost'))
    for (const charge of charges) {
      const contracted =
        parseUsdText(charge.ContractedCost ?? '') * PICO - productOf(charge, 'ContractedUnitPrice')
      // A whole cost at a contract's part of it is rounded once; rates are rounded before.
      if (charge.PricingUnit === 'USD') expect(contracted * contracted < PICO * PICO).toBe(true)
      else expect(contracted).toBe(0n)
      expect(productOf(charge, 'ListUnitPrice')).toBe(parseUsdText(charge.ListCost ?? '') * PICO)
    }
  }
})

test('no charge of usage lacks what the specification wants, and each price has one SKU', () => {
  const skuOf = new Map<string, string>()
  for (const charge of DAYS.flatMap(({ row, price }) => chargesOf(focusRows(row, price, '1.2')))) {
    const wanted = ['SkuId', 'SkuPriceId', 'SkuMeter', 'SkuPriceDetails', 'ListUnitPrice', 'PricingQuantity']
    for (const column of [...wanted, 'PricingUnit', 'ConsumedQuantity', 'ConsumedUnit', 'PricingCategory'])
      expect(charge[column], `${column} of ${charge.ChargeDescription}`).not.toBe('')
    expect(charge.SkuId).not.toMatch(/[(](?:none|unknown|other)/)
    const { SkuPriceId: id = '', SkuId: sku = '' } = charge
    expect(skuOf.get(id) ?? sku).toBe(sku)
    skuOf.set(id, sku)
  }
})

test('a list price is without the markup, a contracted one is what the contract says, and the bill has the markup', () => {
  const marked = DAYS.find(
    ({ price }) => price?.definition.basis === 'linear' && price.definition.factor === '1.2',
  )
  if (marked === undefined) throw new Error('no price has a markup')
  const [charge] = chargesOf(focusRows(marked.row, marked.price, '1.2'))
  expect(charge).toMatchObject({
    SkuMeter: 'input',
    ContractedUnitPrice: '0.997942',
    ListUnitPrice: '1.028806',
    BilledCost: picoToUsdText(BigInt(charge?.ConsumedQuantity ?? 0) * 1_234_567n),
    PricingUnit: '1000000 Tokens',
    ConsumedUnit: 'Tokens',
  })
})

test('of what corrected a row only that is a correction which came when its month was over', () => {
  const { row, price } = dayOf(
    { costPico: '0', priceId: null },
    {
      ...{ requests: 0n, adjustedPico: -7n },
      corrections: [{ isLater: true, isRepricing: true, pico: -5n, lines: null }],
    },
  )
  expect(chargesOf(focusRows(row, price, '1.2'))).toMatchObject([
    { ChargeCategory: 'Adjustment', ChargeClass: '', BilledCost: '-0.000000000002', SkuId: '' },
    {
      ...{ ChargeCategory: 'Adjustment', ChargeClass: 'Correction', BilledCost: '-0.000000000005' },
      ListCost: '-0.000000000005',
    },
  ])
})

test('calls without a price are charges of nothing that say how many they are', () => {
  const { row, price } = dayOf({ costPico: null, priceId: null, model: 'new' })
  expect(chargesOf(focusRows(row, price, '1.2'))).toMatchObject([
    { SkuMeter: 'unpriced', BilledCost: '0', ConsumedQuantity: '1', SkuId: 'openai/new/unpriced' },
  ])
})

test('1.3 names who provides and who hosts, and is 1.2 else', () => {
  const older = focusHeader('1.2').trimEnd().split(',')
  const newer = focusHeader('1.3').trimEnd().split(',')
  expect(newer.filter((name) => !older.includes(name))).toEqual(['HostProviderName', 'ServiceProviderName'])
  expect(newer.filter((name) => older.includes(name))).toEqual(older)
})
