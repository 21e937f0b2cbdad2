import { picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type Charge, type ChargePart, type SpreadCommitment, spreadCommitment } from '../charges/charge.ts'
import { selectCharges, selectCovered } from '../charges/charges-table.ts'
import { dailyRowFrom } from '../daily-row.ts'
import { safeName } from './csv-text.ts'
import { base, type FocusCharge } from './export-focus.ts'
import type { ExportScope } from './export-rows.ts'

/** The charges beside calls of an export, as FOCUS has them. */
export async function readFocusCharges(
  pool: Postgres,
  { from, to, clientId }: ExportScope,
): Promise<readonly FocusCharge[]> {
  const charges = await selectCharges(pool, { period: { fromDay: from, toDay: to }, clientId: null })
  const parts = Map.groupBy(charges, ({ sharedFrom }) => sharedFrom)
  const found: FocusCharge[] = []
  for (const charge of parts.get(null) ?? []) {
    const isSpread = charge.category === 'commitment'
    const spread = isSpread ? spreadCommitment(charge, await selectCovered(pool, charge)) : null
    found.push(...focusCharges(charge, parts.get(charge.id) ?? [], spread, clientId))
  }
  return found
}

/**
 * A charge: what is left of it, and the parts that clients have. A commitment is billed once, and its effective cost is
 * that of what each client used of it, and of what no client did. Billed and effective costs of all add up to the amount.
 *
 * @param clientId Only those of this client; `null`: all.
 */
export function focusCharges(
  charge: Charge,
  parts: readonly Charge[],
  spread: SpreadCommitment | null,
  clientId: string | null,
): readonly FocusCharge[] {
  const rest = parts.reduce((left, { amountPico }) => left - amountPico, charge.amountPico)
  const lines: Line[] = [
    { ...ofCharge(charge), billedPico: rest, effectivePico: spread === null ? rest : 0n, part: null },
  ]
  for (const part of parts) {
    const effectivePico = part.part === 'used' ? 0n : part.amountPico
    lines.push({ ...ofCharge(part), billedPico: part.amountPico, effectivePico, part: part.part })
  }
  if (spread !== null) {
    for (const [id, effectivePico] of spread.byClient) {
      const billed = lines.find((line) => line.part === 'used' && line.clientId === id)
      if (billed !== undefined) billed.effectivePico = effectivePico
      else lines.push({ clientId: id, client: null, billedPico: 0n, effectivePico, part: 'used' })
    }
    const shared = parts.filter(({ part }) => part === 'unused')
    const effectivePico = shared.reduce((left, { amountPico }) => left - amountPico, spread.unusedPico)
    lines.push({ clientId: null, client: null, billedPico: 0n, effectivePico, part: 'unused' })
  }
  return lines
    .filter(({ billedPico, effectivePico }) => billedPico !== 0n || effectivePico !== 0n)
    .filter((line) => clientId === null || line.clientId === clientId)
    .flatMap((line) => {
      const { billedPico, effectivePico } = line
      if (KINDS[charge.category] !== 'Purchase' || billedPico === 0n || effectivePico === 0n) return [line]
      // A purchase has no effective cost of its own: what was bought has it.
      return [
        { ...line, effectivePico: 0n },
        { ...line, billedPico: 0n },
      ]
    })
    .map((line) => focusCharge(charge, line))
}

interface Line extends Pick<Charge, 'clientId' | 'client'> {
  readonly billedPico: bigint
  effectivePico: bigint
  readonly part: ChargePart | null
}

const ofCharge = ({ clientId, client }: Charge) => ({ clientId, client })

function focusCharge(charge: Charge, line: Line): FocusCharge {
  const { billedPico, effectivePico, clientId, client, part } = line
  const { category, service, from, to, upstream, reason, name } = charge
  const row = {
    ...dailyRowFrom({}),
    ...{ day: from, clientId: clientId ?? '', clientName: client, keyName: null, corrections: [] },
    ...{ upstream: upstream ?? '', provider: upstream ?? '' },
  }
  // What is spread was paid by a purchase, so that it is billed at nothing.
  const isSpread = billedPico === 0n
  const kind = isSpread ? 'Usage' : KINDS[category]
  const meter = part ?? category
  // Of so many dollars each is one dollar.
  const [price, quantity] = isSpread ? ['0', picoToUsdText(effectivePico)] : ['1', picoToUsdText(billedPico)]
  return {
    ...base(row, billedPico, { listPico: billedPico, contractedPico: billedPico }),
    ChargeCategory: kind,
    ChargeDescription: safeName([service, part ?? [], reason].flat().join(': ')),
    ChargeFrequency: kind === 'Usage' ? 'Usage-Based' : category === 'commitment' ? 'Recurring' : 'One-Time',
    ChargePeriodEnd: `${addDays(to, 1)}T00:00:00Z`,
    EffectiveCost: picoToUsdText(effectivePico),
    ...(clientId === null
      ? { InvoiceId: `operator/${from.slice(0, 7)}`, SubAccountId: '', SubAccountName: '' }
      : {}),
    ...(kind === 'Usage' ? { ConsumedQuantity: quantity, ConsumedUnit: 'USD' } : {}),
    ...(kind === 'Usage' || kind === 'Purchase'
      ? {
          ...{
            ContractedUnitPrice: price,
            ListUnitPrice: price,
            PricingQuantity: quantity,
            PricingUnit: 'USD',
          },
          ...{ PricingCategory: 'Standard', SkuId: safeName(`${service}/${meter}`), SkuMeter: meter },
          SkuPriceId: safeName(`${service}/${meter}/${price}`),
          SkuPriceDetails: JSON.stringify({ x_Name: name }),
        }
      : {}),
  }
}

const KINDS: Readonly<Record<Charge['category'], string>> = {
  purchase: 'Purchase',
  commitment: 'Purchase',
  storage: 'Usage',
  hosting: 'Usage',
  session: 'Usage',
  credit: 'Credit',
  tax: 'Tax',
  adjustment: 'Adjustment',
}
