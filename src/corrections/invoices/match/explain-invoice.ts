import type { UtcDay } from '../../../domain/utc-day.ts'
import type { Biller } from '../invoice-row.ts'
import type { InvoiceCharge, InvoicedUse } from '../invoices-table.ts'
import { layCells } from './cells.ts'
import type { InvoiceDifference } from './differences.ts'
import { explainCells } from './explain-cells.ts'
import type { OwnUse } from './own-use.ts'

/** An invoice and what we have of its days. */
export interface BothSides {
  readonly biller: Biller
  readonly invoiced: readonly InvoicedUse[]
  readonly ours: readonly OwnUse[]
  /** What the invoice has beside use, and what is charged of it here; `null`: no charge is made of it. */
  readonly charges: readonly (InvoiceCharge & { readonly chargedPico: bigint | null })[]
  /** The days of our calls by the ids of answers that the invoice names; `null`: calls of that day are not kept. */
  readonly dayOfResponse: (use: InvoicedUse) => UtcDay | 'none' | null
}

/** All differences, day by day. They add up to the invoice less ours, of each day, to the pico-dollar. */
export function explainInvoice(sides: BothSides): readonly InvoiceDifference[] {
  const { biller, ours, charges } = sides
  const { invoiced, differences } = byResponse(sides)
  const { cells, ofOtherModels, fees } = layCells(biller, invoiced, ours)
  return [
    ...differences,
    ...explainCells(cells),
    ...ofOtherModels.map(({ day, service, amountPico }): InvoiceDifference => {
      return { class: 'other_key', day, model: service, remark: 'no call of ours had this model', amountPico }
    }),
    ...fees.map(({ day, service, amountPico }): InvoiceDifference => {
      return { class: 'fee', day, model: service, remark: 'usage', amountPico }
    }),
    ...charges.map(({ day, service, kind, amountPico, chargedPico }): InvoiceDifference => {
      return { class: 'fee', day, model: service, remark: kind, amountPico: amountPico - (chargedPico ?? 0n) }
    }),
  ].filter(({ amountPico }) => amountPico !== 0n)
}

/** Rows of single answers are of the day of our call, and of another key where there is no such call. */
function byResponse({ invoiced, dayOfResponse }: BothSides) {
  const differences: InvoiceDifference[] = []
  const kept: InvoicedUse[] = []
  for (const use of invoiced) {
    const ourDay = use.responseId === null ? null : dayOfResponse(use)
    const { day, service: model, amountPico } = use
    if (ourDay === 'none') {
      differences.push({ class: 'other_key', day, model, remark: 'no call of ours has its id', amountPico })
      continue
    }
    kept.push(ourDay === null ? use : { ...use, day: ourDay })
    if (ourDay === null || ourDay === day) continue
    differences.push(
      { class: 'late', day, model, remark: `counted as of ${ourDay} here`, amountPico },
      { class: 'late', day: ourDay, model, remark: `counted as of ${day} there`, amountPico: -amountPico },
    )
  }
  return { invoiced: kept, differences }
}
