import type { BudgetPeriod, LimitKind } from './limit.ts'

/** The most that a limit may say: more is a slip of the hand, and would limit nothing. */
const MOST: Readonly<Record<LimitKind, bigint>> = {
  budget: 10n ** 21n, // a billion US dollars
  requests: 1_000_000_000n,
  tokens: 1_000_000_000_000n,
  concurrent: 1_000_000n,
}

const WHOLE = /^[1-9][0-9]{0,12}$/
const USD = /^([0-9]{1,10})(?:\.([0-9]{1,12}))?$/

/** What a limit of the kind may say, as text: US dollars of a budget, else a whole number. `null`: it is none. */
export function parseAmount(kind: LimitKind, text: string): bigint | null {
  const amount = kind === 'budget' ? parsePico(text) : WHOLE.test(text) ? BigInt(text) : 0n
  return amount > 0n && amount <= MOST[kind] ? amount : null
}

function parsePico(text: string): bigint {
  const [, whole, fraction = ''] = USD.exec(text) ?? []
  return whole === undefined ? 0n : BigInt(whole + fraction.padEnd(12, '0'))
}

/** How an amount is written, for those who wrote another one. */
export function describeAmounts(kind: LimitKind): string {
  return kind === 'budget'
    ? 'US dollars above 0 and up to 1000000000, such as 12.50, to 12 places at most'
    : `a whole number from 1 to ${MOST[kind]}`
}

const KIND_NAMES: Readonly<Record<Exclude<LimitKind, 'budget'>, string>> = {
  requests: 'requests a minute',
  tokens: 'tokens a minute',
  concurrent: 'calls at once',
}

/** What is limited, in words: `budget a month`, `requests a minute`. */
export function describeSort(sort: {
  readonly kind: LimitKind
  readonly per: BudgetPeriod | null
  readonly isSoft: boolean
}): string {
  if (sort.kind !== 'budget') return KIND_NAMES[sort.kind]
  const period = sort.per === 'total' ? 'in total' : `a ${sort.per}`
  return `${sort.isSoft ? 'soft ' : ''}budget ${period}`
}
