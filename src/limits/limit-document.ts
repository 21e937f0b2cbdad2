import { picoToUsdText } from '../domain/pico-usd.ts'
import type { PeriodDays } from './limit.ts'
import { amountAt, type BudgetPeriod, type Limit, type LimitKind } from './limit.ts'

/** An amount of a limit as JSON: exact US dollars as text of a budget, else a number. */
export function renderAmount({ kind }: Pick<Limit, 'kind'>, amount: bigint): string | number {
  return kind === 'budget' ? picoToUsdText(amount) : Number(amount)
}

/** What a limit says, as JSON. What its kind does not have is `null`. */
export function renderTerms(limit: Limit) {
  const { kind, raise, isSoft } = limit
  return {
    key: limit.keyId,
    former_keys: limit.formerKeys,
    model: limit.model,
    group: limit.groupId,
    axis: limit.axis,
    value: limit.value,
    kind,
    limit: renderAmount(limit, limit.amount),
    per: limit.per,
    soft: isSoft,
    raised_to: raise === null ? null : renderAmount(limit, raise.amount),
    raised_until: raise === null ? null : new Date(raise.untilMs).toISOString(),
    since: limit.since,
    cached: kind === 'tokens' ? (limit.countsCached ? ('count' as const) : ('ignore' as const)) : null,
    unpriced:
      kind === 'budget' && !isSoft ? (limit.allowsUnpriced ? ('allow' as const) : ('refuse' as const)) : null,
    when_alone: kind === 'budget' && !isSoft ? limit.whenAlone : null,
  }
}

/** The terms as the audit has them: those of older releases lack what came later. */
export type RecordedTerms = Omit<ReturnType<typeof renderTerms>, LaterTerm> &
  Partial<Pick<ReturnType<typeof renderTerms>, LaterTerm>>

type LaterTerm = 'former_keys' | 'when_alone' | 'group' | 'axis' | 'value'

/** What was spent of a budget in a period. */
export interface SpentOfLimit {
  readonly pico: bigint
  /** Of that, what calls are charged whose cost is not known. */
  readonly chargedPico: bigint
  readonly period: PeriodDays
}

/** A limit with the client it is shown for, and what was spent of it. */
export interface ShownLimit {
  readonly limit: Limit
  /** The name of the client that the limit is of; `null`: a default. */
  readonly client: string | null
  /** Of a budget in its period of now, by one client; else `null`. */
  readonly spent: SpentOfLimit | null
}

/** A limit as it stands, as JSON; the same on the command line and over HTTP. A raise that is over is none. */
export function renderLimit({ limit, client, spent }: ShownLimit, nowMs: number) {
  const { raise } = limit
  const isRaised = raise !== null && nowMs < raise.untilMs
  const left = spent === null ? null : amountAt(limit, nowMs) - spent.pico
  return {
    id: limit.id,
    client,
    ...renderTerms(isRaised ? limit : { ...limit, raise: null }),
    spent_usd: spent === null ? null : picoToUsdText(spent.pico),
    charged_usd: spent === null ? null : picoToUsdText(spent.chargedPico),
    left_usd: left === null ? null : picoToUsdText(left > 0n ? left : 0n),
    period_from: spent?.period.fromDay ?? null,
    period_to: spent?.period.toDay ?? null,
  }
}

/** The most that a limit may say: more is a slip of the hand, and would limit nothing. */
const MOST: Readonly<Record<LimitKind, bigint>> = {
  budget: 10n ** 21n, // a billion US dollars
  requests: 1_000_000_000n,
  tokens: 1_000_000_000_000n,
  concurrent: 1_000_000n,
}

const WHOLE = /^[1-9][0-9]{0,12}$/
const USD = /^([0-9]{1,10})(?:\.([0-9]{1,12}))?$/

/** The form of an amount of some kind. */
export const AMOUNT_FORM = /^(?!0+(?:\.0+)?$)[0-9]{1,13}(?:\.[0-9]{1,12})?$/
export const MOST_OF_ALL = Number(MOST.tokens)

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
