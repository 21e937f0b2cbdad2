import { amountAt, type Limit } from '../../../limits/limit.ts'
import { describeSort } from '../../../limits/limit-amounts.ts'
import { renderAmount } from '../../../limits/limit-document.ts'

/** A limit in words, with a raise that holds: `10 USD: budget a month, raised to 20 until 2026-12-01T00:00Z`. */
export function describeAmountsOf(limit: Limit, nowMs: number): string {
  const { kind, raise } = limit
  const amount =
    kind === 'budget' ? `${renderAmount(limit, limit.amount)} USD:` : renderAmount(limit, limit.amount)
  const words = [`${amount} ${describeSort(limit)}`]
  if (limit.since !== null) words.push(`since ${limit.since}`)
  if (kind === 'tokens' && !limit.countsCached) words.push('cached ones not counted')
  if (limit.allowsUnpriced) words.push('unpriced models pass')
  if (limit.whenAlone === 'share') words.push('goes on when alone')
  if (raise !== null && amountAt(limit, nowMs) > limit.amount) {
    const until = `${new Date(raise.untilMs).toISOString().slice(0, 16)}Z`
    words.push(`raised to ${renderAmount(limit, raise.amount)} until ${until}`)
  }
  return words.join(', ')
}
