import type { PostgresSession } from '../../store/connection/postgres.ts'
import { selectCharges } from '../charges/charges-table.ts'
import type { ReportQuery } from '../report/report-query.ts'

/** What is charged beside calls; 1e-12 USD. */
export interface OtherCosts {
  readonly otherPico: bigint
  /** Of that, what no client pays. */
  readonly unassignedPico: bigint
}

export const NO_OTHER: OtherCosts = { otherPico: 0n, unassignedPico: 0n }

/**
 * Charges whose first day is in a period: of all, and of each group by the ids of it. Parts that were shared out are
 * those of their clients, and what is left of a charge is of none, so that all add up to what was charged. `null`: they
 * are not kept by what is asked for.
 */
export async function selectOtherCosts(
  session: PostgresSession,
  { period, groupBy, filters }: Pick<ReportQuery, 'period' | 'groupBy' | 'filters'>,
): Promise<{ readonly totals: OtherCosts; readonly byGroup: ReadonlyMap<string, OtherCosts> } | null> {
  const asked = [...groupBy, ...filters.map(({ group }) => group)]
  if (asked.some((group) => group !== 'client' && group !== 'upstream')) return null
  const charges = await selectCharges(session, { period, clientId: null })
  const shared = Map.groupBy(charges, ({ sharedFrom }) => sharedFrom)
  let totals = NO_OTHER
  const byGroup = new Map<string, OtherCosts>()
  for (const { id, clientId, upstream, amountPico } of charges) {
    const ids: Partial<Record<string, string>> = { client: clientId ?? '', upstream: upstream ?? '' }
    if (filters.some((filter) => !filter.ids.includes(ids[filter.group] ?? ''))) continue
    const parts = shared.get(id) ?? []
    const otherPico = parts.reduce((left, part) => left - part.amountPico, amountPico)
    const one = { otherPico, unassignedPico: clientId === null ? otherPico : 0n }
    totals = add(totals, one)
    const name = groupBy.map((group) => ids[group] ?? '').join('\0')
    byGroup.set(name, add(byGroup.get(name) ?? NO_OTHER, one))
  }
  return { totals, byGroup }
}

function add(sum: OtherCosts, one: OtherCosts): OtherCosts {
  return {
    otherPico: sum.otherPico + one.otherPico,
    unassignedPico: sum.unassignedPico + one.unassignedPico,
  }
}
