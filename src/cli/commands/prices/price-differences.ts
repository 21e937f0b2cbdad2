import { picoToUsdNumber, picoToUsdText } from '../../../domain/pico-usd.ts'
import { renderTable } from '../../../operations/table.ts'
import type { CostDifference } from '../../../usage/calls/cost-differences.ts'

export function renderDifference({
  model,
  provider,
  upstream,
  calls,
  reportedPico,
  ownPico,
}: CostDifference) {
  return {
    model,
    provider,
    upstream,
    calls: Number(calls),
    reported_usd: picoToUsdNumber(reportedPico),
    own_usd: picoToUsdNumber(ownPico),
  }
}

export function differencesText(differences: readonly CostDifference[], days: number): string {
  if (differences.length === 0) return `No provider said another cost in the last ${days} days.`
  const right = { align: 'right' } as const
  const table = renderTable(
    [
      { heading: 'MODEL' },
      { heading: 'UPSTREAM' },
      { heading: 'CALLS', ...right },
      { heading: 'PROVIDER SAYS USD', ...right },
      { heading: 'OUR PRICES SAY USD', ...right },
    ],
    differences.map(({ model, upstream, calls, reportedPico, ownPico }) => [
      model,
      upstream,
      `${calls}`,
      picoToUsdText(reportedPico),
      picoToUsdText(ownPico),
    ]),
  )
  return [
    'Calls whose provider says another cost than our prices, by more than 1 %:',
    table,
    "The provider's is taken where trust_reported_cost says so, or its host is known to bill what it says.",
  ].join('\n')
}
