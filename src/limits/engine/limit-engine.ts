import { isOfKey } from '../limit.ts'
import type { BudgetAccount } from './budget-account.ts'
import type { CallLimits } from './call-limits.ts'
import type { ClientEntry } from './client-entry.ts'
import { ClientsAtWork, type LimitEngineOptions } from './clients-at-work.ts'
import { fits } from './held-reservation.ts'
import type {
  CallToLimit,
  Limiter,
  LimiterStats,
  LimitRefusal,
  RateHeader,
  RateHeaders,
  Reservation,
} from './limiter.ts'
import type { RateHolding } from './rate-holding.ts'
import { WaitingCall } from './waiting-calls.ts'

const NO_ACCOUNTS: readonly BudgetAccount[] = []
const NO_RATES: RateHeaders = { requests: null, tokens: null }

/** The limits of a gateway process, shared with the other ones. `tick` has to be called ten times a second. */
export class LimitEngine implements Limiter {
  readonly #options: LimitEngineOptions
  readonly #work: ClientsAtWork

  constructor(options: LimitEngineOptions) {
    this.#options = options
    this.#work = new ClientsAtWork(options)
  }

  limits(clientId: string, keyId: string): boolean {
    for (const limit of this.#options.limitsOf(clientId)) if (isOfKey(limit, keyId)) return true
    return false
  }

  refusesUnpriced(clientId: string, keyId: string, model: string | null): boolean {
    return this.#limitsOf(clientId, keyId, model)?.limits.refusesUnpriced === true
  }

  admit(call: CallToLimit): Reservation | LimitRefusal | null | Promise<Reservation | LimitRefusal | null> {
    const found = this.#limitsOf(call.clientId, call.keyId, call.model)
    if (found === null) return null
    const { entry, limits } = found
    const nowMs = this.#options.now()
    if (limits.isEmpty) {
      // What answers may be a model that has limits: its cost counts at once, and this name is known from then on.
      const mayRunLimited = entry.client.hasModelLimits && call.model !== null
      return mayRunLimited ? this.#work.take(entry, limits, NO_ACCOUNTS, call, nowMs) : null
    }
    entry.usedAtMs = nowMs
    const accounts = entry.client.accountsOf(limits, call.arrivedAtMs)
    if (
      entry.hasRates(limits, this.#work.presence, nowMs) &&
      (accounts.length === 0 || entry.hasMoney(limits.sharesAlone, this.#work.presence, nowMs)) &&
      (entry.client.waiting.size === 0 || !isWaitedFor(limits, accounts)) &&
      fits(limits, accounts, call, nowMs)
    )
      return this.#work.take(entry, limits, accounts, call, nowMs)
    return this.#work.admitLater(entry, new WaitingCall(call, limits, accounts, nowMs))
  }

  rates(clientId: string, keyId: string, model: string | null): RateHeaders {
    const found = this.#limitsOf(clientId, keyId, model)
    if (found === null || found.limits.rates.length === 0) return NO_RATES
    const nowMs = this.#options.now()
    let requests: RateHeader | null = null
    let tokens: RateHeader | null = null
    for (const holding of found.limits.rates) {
      if (holding.kind === 'requests') requests = strictest(requests, holding, nowMs)
      else if (holding.kind === 'tokens') tokens = strictest(tokens, holding, nowMs)
    }
    return { requests, tokens }
  }

  rateOf(clientId: string, limitId: string): RateHeader | null {
    const limits = this.#options.limitsOf(clientId)
    const limit = limits.find(({ id, kind }) => id === limitId && kind !== 'budget')
    if (limit === undefined) return null
    const holding = this.#work.clients.get(clientId)?.client.rates.get(limitId)
    if (holding !== undefined) return strictest(null, holding, this.#options.now())
    return { limit: Number(limit.amount), remaining: Number(limit.amount), resetMs: 0 }
  }

  stats(): LimiterStats {
    const { exchanges, failures, isAway } = this.#work.presence
    // Without clients that have limits nothing is shared, and nothing is missed.
    const isDegraded = isAway && this.size > 0
    return { exchanges, exchangeFailures: failures, waiting: this.#work.waiting, isDegraded }
  }

  /** How many clients this process has something of in memory. */
  get size(): number {
    return this.#work.clients.size
  }

  /** Reports what is due to the others, reads what is due, and sees to calls that wait. */
  tick(): void {
    this.#work.tick()
  }

  /** The connection to Redis is another one. */
  reconnected(): void {
    this.#work.reconnected()
  }

  /** What this gateway holds and does not use is given back. */
  async giveBack(): Promise<void> {
    await this.#work.giveBack()
  }

  #limitsOf(
    clientId: string,
    keyId: string,
    model: string | null,
  ): { readonly entry: ClientEntry; readonly limits: CallLimits } | null {
    const limits = this.#options.limitsOf(clientId)
    if (limits.length === 0) return null
    const entry = this.#work.clients.get(clientId) ?? this.#work.open(clientId, limits)
    if (entry.client.limits !== limits) entry.client.useLimits(limits)
    return { entry, limits: entry.client.callLimits(keyId, model) }
  }
}

function isWaitedFor({ rates }: CallLimits, accounts: readonly BudgetAccount[]): boolean {
  for (const { waiting } of rates) if (waiting > 0) return true
  for (const { waiting } of accounts) if (waiting > 0) return true
  return false
}

/** The figures of the limit of which least is left. */
function strictest(known: RateHeader | null, holding: RateHolding, nowMs: number): RateHeader {
  const remaining = Math.floor(holding.left(nowMs))
  if (known !== null && known.remaining <= remaining) return known
  return { limit: holding.amount, remaining, resetMs: Math.ceil(holding.resetMs(nowMs)) }
}
