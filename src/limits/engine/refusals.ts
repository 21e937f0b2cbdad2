import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { Limit } from '../limit.ts'
import type { BudgetAccount } from './budget-account.ts'
import type { LimitRefusal } from './limiter.ts'
import type { RateHolding } from './rate-holding.ts'

const SECOND_MS = 1_000
/** A Redis that is away is seldom back at once. */
const ALONE_RETRY_SECONDS = '5'
/** Jobs run for minutes to hours. */
const JOB_RETRY_SECONDS = '30'
const WHEN_ENDED = 'Try again when some of them have ended.'

/** A limit on requests, tokens or calls at once is reached. */
export function refuseByRate(holding: RateHolding, retryMs: number): LimitRefusal {
  const { limit, amount, kind } = holding
  const what = { requests: 'requests a minute', tokens: 'tokens a minute', concurrent: 'calls at once' }[kind]
  const seconds = Math.max(1, Math.ceil(retryMs / SECOND_MS))
  const message = `The limit of ${amount} ${what}${scopeOf(limit)} is reached. Try again in ${seconds} s.`
  return retryLater(limit, kind, `${seconds}`, message)
}

/** Calls that run may use what is left of a limit on tokens. */
export function refuseRateReserved({ limit, amount }: RateHolding): LimitRefusal {
  const rest = `the rest of the limit of ${amount} tokens a minute${scopeOf(limit)}`
  return retryLater(limit, 'reserved', '1', `Calls that are running hold ${rest}. ${WHEN_ENDED}`)
}

/** Calls that run hold what is left of a budget. */
export function refuseReserved({ limit, amount, jobsReserved }: BudgetAccount): LimitRefusal {
  const rest = `the rest of ${nameOf(limit, amount)}`
  if (jobsReserved === 0n)
    return retryLater(limit, 'reserved', '1', `Calls that are running hold ${rest}. ${WHEN_ENDED}`)
  const message =
    `Jobs whose cost is not known yet hold ${rest}. ` +
    'Try again when some of them have ended and their results were fetched.'
  return retryLater(limit, 'reserved', JOB_RETRY_SECONDS, message)
}

/** This gateway cannot learn what is left of a budget, and its share has no room for the call. */
export function refuseAlone({ limit, amount }: BudgetAccount): LimitRefusal {
  const message =
    `What is left of ${nameOf(limit, amount)} cannot be asked for now, and this call does not fit into what this ` +
    `gateway holds of it. Try again in ${ALONE_RETRY_SECONDS} s.`
  return retryLater(limit, 'reserved', ALONE_RETRY_SECONDS, message)
}

function retryLater(
  limit: Limit,
  reason: LimitRefusal['reason'],
  seconds: string,
  message: string,
): LimitRefusal {
  const detail = { message, headers: { 'retry-after': seconds } }
  return { error: 'rate_limit_exceeded', reason, limitId: limit.id, detail }
}

/** A budget is spent. */
export function refuseByBudget(
  { limit, amount, fromDay, endsAtMs }: BudgetAccount,
  spent: bigint,
): LimitRefusal {
  const since = limit.per === 'total' && limit.since === null ? '' : ` since ${fromDay}`
  const until =
    endsAtMs === Number.POSITIVE_INFINITY
      ? 'It does not begin again by itself.'
      : `It begins again at ${new Date(endsAtMs).toISOString().slice(0, 19)}Z.`
  return {
    error: 'budget_exceeded',
    reason: 'budget',
    limitId: limit.id,
    detail: {
      message: `${capital(nameOf(limit, amount))} is spent: ${picoToUsdText(spent)} USD${since}. ${until}`,
      // Official SDKs try a 429 again at once otherwise.
      headers: { 'x-should-retry': 'false' },
    },
  }
}

/** Too many calls wait. */
export function refuseWaiting({
  limits: { rates },
  accounts,
}: {
  readonly limits: { readonly rates: readonly RateHolding[] }
  readonly accounts: readonly BudgetAccount[]
}): LimitRefusal {
  const account = accounts.find(({ waiting }) => waiting.size > 0) ?? accounts[0]
  if (account !== undefined) return refuseReserved(account)
  const holding = rates.find(({ waiting }) => waiting.size > 0) ?? rates[0]
  return holding === undefined
    ? { error: 'rate_limit_exceeded', reason: 'reserved', limitId: '', detail: {} }
    : refuseByRate(holding, 0)
}

function nameOf(limit: Limit, amount: bigint): string {
  const per = limit.per === 'total' || limit.per === null ? 'in total' : `a ${limit.per}`
  return `the budget of ${picoToUsdText(amount)} USD ${per}${scopeOf(limit)}`
}

function scopeOf({ keyId, model, axis, groupId }: Limit): string {
  const whose = groupId === null ? '' : ' of the group'
  const of = axis === null ? '' : ` of this call's ${axis}`
  return `${whose}${keyId === null ? '' : ' of this API key'}${of}${model === null ? '' : ` for ${model}`}`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
