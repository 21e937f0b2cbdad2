import type { UtcDay } from '../../../domain/utc-day.ts'

/** Why an invoice differs from what we counted, and what would repair it. `unexplained` is what is left. */
export const DIFFERENCES = {
  late: 'calls near midnight are of another day there: nothing to repair',
  other_key: 'calls that did not pass the gateway: find who uses the key or account, and send it through',
  tier: 'another service tier than we priced: tallygate calls find shows the tier of calls, prices reprice prices them again',
  place: 'served at another place than we priced: set the place of the upstream (docs/prices.md, section 6)',
  fee: 'no call is charged for it: invoice import --as-charges makes charges of fees, or charge set',
  price:
    'another price than ours: contract set says what was agreed, prices show what is used, prices reprice corrects',
  rounding: 'amounts are rounded on the invoice: nothing to repair',
  unexplained:
    'import the invoice again once it is final; then look at calls of that day and model: calls list',
} as const

export type DifferenceReason = keyof typeof DIFFERENCES

export const DIFFERENCE_REASONS = Object.keys(DIFFERENCES) as readonly DifferenceReason[]

/** A part of the difference between an invoice and what we counted. */
export interface InvoiceDifference {
  readonly class: DifferenceReason
  readonly day: UtcDay
  /** The model; of what is for none, what the invoice calls it. */
  readonly model: string
  /** What is known beside it, in words; '': nothing. */
  readonly remark: string
  /** Invoice less ours, 1e-12 USD. */
  readonly amountPico: bigint
}

/** Differences of one class, model and remark. */
export interface DifferenceSum extends Omit<InvoiceDifference, 'day'> {
  readonly from: UtcDay
  readonly to: UtcDay
  readonly days: number
  /** The same without signs: what moved from day to day adds up to nothing. */
  readonly grossPico: bigint
}

/** The largest first. */
export function sumDifferences(differences: readonly InvoiceDifference[]): readonly DifferenceSum[] {
  const groups = Map.groupBy(differences, (one) => [one.class, one.model, one.remark].join('\0'))
  return [...groups.values()]
    .flatMap((ofGroup) => {
      const [first] = ofGroup
      if (first === undefined) return []
      const days = ofGroup.map(({ day }) => day).sort()
      return [
        {
          ...{ class: first.class, model: first.model, remark: first.remark },
          ...{ from: days[0] ?? first.day, to: days.at(-1) ?? first.day, days: new Set(days).size },
          amountPico: ofGroup.reduce((sum, { amountPico }) => sum + amountPico, 0n),
          grossPico: ofGroup.reduce((sum, { amountPico }) => sum + sizeOf(amountPico), 0n),
        },
      ]
    })
    .toSorted((one, other) =>
      one.grossPico === other.grossPico
        ? one.model.localeCompare(other.model)
        : one.grossPico > other.grossPico
          ? -1
          : 1,
    )
}

/** What nothing explains, without signs. */
export function unexplainedIn(differences: readonly DifferenceSum[]): bigint {
  return differences
    .filter((one) => one.class === 'unexplained')
    .reduce((sum, { grossPico }) => sum + grossPico, 0n)
}

/** So much of an invoice may be unexplained before it is said. */
export const MOST_UNEXPLAINED = { thousandths: 5n, pico: 1_000_000_000_000n } as const

export function isTooMuch({
  unexplainedPico,
  invoicedPico,
}: {
  readonly unexplainedPico: bigint
  readonly invoicedPico: bigint
}): boolean {
  const { thousandths, pico } = MOST_UNEXPLAINED
  return unexplainedPico > pico && unexplainedPico * 1_000n > invoicedPico * thousandths
}

export function sizeOf(pico: bigint): bigint {
  return pico < 0n ? -pico : pico
}
