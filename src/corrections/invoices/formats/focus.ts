import { amountOf, BadRow, type Biller, dayOf, type InvoiceKind, quantityOf } from '../invoice-row.ts'
import { classIn, servesModels, tierIn } from '../invoice-words.ts'
import { azurePlace } from './clouds.ts'
import { type Cells, type InvoiceFormat, NOT_SAID, orNull } from './format.ts'

const BILLERS_BY_NAME: readonly (readonly [Biller, RegExp])[] = [
  ['aws', /\baws\b|amazon/i],
  ['azure', /azure|microsoft/i],
  ['google', /google|gcp/i],
  ['anthropic', /anthropic/i],
  ['openai', /openai/i],
]

const KINDS: Readonly<Record<string, InvoiceKind>> = {
  usage: 'usage',
  purchase: 'purchase',
  credit: 'credit',
  tax: 'tax',
  adjustment: 'adjustment',
}

/**
 * Rows of FOCUS 1.0 to 1.4, the FinOps Foundation's own format, which AWS, Azure and Google export too. The billed cost
 * counts: effective costs spread what was billed elsewhere.
 * https://focus.finops.org
 */
export const FOCUS: InvoiceFormat = {
  name: 'focus',
  title: 'FOCUS',
  columns: ['BilledCost', 'BillingCurrency', 'ChargeCategory', 'ChargePeriodStart'],
  rowOf(cells, { rates, biller: said }) {
    const biller = said ?? billerOf(cells)
    const [service, meter] = [cells.get('ServiceName'), cells.get('SkuMeter', 'x_SkuMeterName')]
    const description = cells.get('ChargeDescription')
    const words = [meter, cells.get('x_SkuDescription'), description].join(' ')
    const isMaker = biller === 'openai' || biller === 'anthropic'
    if (!isMaker && !servesModels(`${service} ${words} ${cells.get('ResourceType')}`)) return null
    if (biller === null)
      throw new BadRow(
        `ProviderName "${providerIn(cells).slice(0, 40)}" is none that is known here: say whose it is`,
      )
    const category = cells.get('ChargeCategory')
    const charged = KINDS[category.toLowerCase()]
    if (charged === undefined) throw new BadRow(`ChargeCategory "${category.slice(0, 40)}" is none of FOCUS`)
    const isCommitted = cells.get('CommitmentDiscountId') !== ''
    const kind = charged === 'purchase' && isCommitted ? 'commitment' : charged
    const isCounted = cells.get('ConsumedQuantity') !== ''
    const unit = orNull(isCounted ? cells.get('ConsumedUnit') : cells.get('PricingUnit'))
    const quantity = cells.get('ConsumedQuantity', 'PricingQuantity')
    const useOf = kind === 'usage' && !/correction/i.test(cells.get('ChargeClass'))
    return {
      ...NOT_SAID,
      biller,
      day: dayOf(cells.get('ChargePeriodStart')),
      service: cells.get('x_Model') || meter || description || service || '(none)',
      kind: kind === 'usage' && !useOf ? 'adjustment' : kind,
      ...(useOf
        ? {
            class: classIn(words),
            tier: tierIn(words) ?? (isMaker ? null : 'standard'),
            place: biller === 'azure' ? azurePlace(words) : orNull(cells.get('RegionId')),
            responseId: orNull(cells.get('x_ResponseId')),
            quantityMicro: quantityOf(quantity, unit ?? ''),
          }
        : {}),
      account: orNull(cells.get('x_ApiKeyId', 'SubAccountId')),
      unit,
      ...amountOf(cells.get('BilledCost'), cells.get('BillingCurrency'), rates),
    }
  },
}

/** `null`: it is none that is known. A file of many clouds has rows of others, which are not about models. */
function billerOf(cells: Cells): Biller | null {
  const name = providerIn(cells)
  return BILLERS_BY_NAME.find(([, form]) => form.test(name))?.[0] ?? null
}

function providerIn(cells: Cells): string {
  return cells.get('ProviderName', 'ServiceProviderName', 'InvoiceIssuerName', 'PublisherName')
}
