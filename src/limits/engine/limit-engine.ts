import { isOfKey, type Limit } from '../limit.ts'
import { subjectOf } from '../subject.ts'
import type { BudgetAccount } from './budget-account.ts'
import { type CallLimits, holdsFor, refusesUnpriced } from './call-limits.ts'
import type { LimitEngineOptions } from './engine-options.ts'
import { fits } from './held-reservation.ts'
import type {
  CallToLimit,
  LimitedCall,
  Limiter,
  LimiterStats,
  LimitRefusal,
  RateHeader,
  RateHeaders,
  Reservation,
} from './limiter.ts'
import type { RateHolding } from './rate-holding.ts'
import { type CallPart, type SubjectEntry, WaitingCall } from './subject-entry.ts'
import { SubjectsAtWork } from './subjects-at-work.ts'

const NO_ACCOUNTS: readonly BudgetAccount[] = []
const TOO_MANY_VALUES: LimitRefusal = {
  error: 'rate_limit_exceeded',
  reason: 'reserved',
  limitId: '',
  detail: {
    message:
      'Calls of this client have had too many users, sessions or other values in the last minute to hold the limits ' +
      'of each. Try again soon.',
    headers: { 'retry-after': '5' },
  },
}
const NO_RATES: RateHeaders = { requests: null, tokens: null }

/** The limits of a gateway process, shared with the other ones. `tick` has to be called ten times a second. */
export class LimitEngine implements Limiter {
  readonly #options: LimitEngineOptions
  readonly #work: SubjectsAtWork

  constructor(options: LimitEngineOptions) {
    this.#options = options
    this.#work = new SubjectsAtWork(options)
  }

  limits(clientId: string, keyId: string, axes?: string): boolean {
    for (const limit of this.#options.limitsOf(clientId)) if (isOfKey(limit, keyId)) return true
    return this.#options.others.of(clientId, axes).length > 0
  }

  refusesUnpriced(asked: LimitedCall): boolean {
    const { clientId, keyId, model, axes, isHeld } = asked
    const entries = this.#entriesOf(asked)
    if (entries !== null) return entries.some(({ subject }) => subject.callLimits(asked).refusesUnpriced)
    const { limitsOf, others } = this.#options
    const lists = [
      limitsOf(clientId),
      ...others.of(clientId, axes).map((subject) => others.limitsOf(subject)),
    ]
    return lists.flat().some((limit) => refusesUnpriced(limit) && holdsFor(limit, keyId, model, isHeld))
  }

  admit(call: CallToLimit): Reservation | LimitRefusal | null | Promise<Reservation | LimitRefusal | null> {
    const entries = this.#entriesOf(call)
    if (entries === null) return TOO_MANY_VALUES
    const nowMs = this.#options.now()
    const parts: CallPart[] = []
    let mayTake = true
    for (const entry of entries) {
      const limits = entry.subject.callLimits(call)
      if (limits.isEmpty) {
        // What answers may be a model that has limits: its cost counts at once, and this name is known from then on.
        if (entry.subject.hasModelLimits && call.model !== null)
          parts.push({ entry, limits, accounts: NO_ACCOUNTS })
        continue
      }
      entry.usedAtMs = nowMs
      const accounts = entry.subject.accountsOf(limits, call.arrivedAtMs)
      parts.push({ entry, limits, accounts })
      mayTake &&=
        entry.hasRates(limits, this.#work.presence, nowMs) &&
        (accounts.length === 0 || entry.hasMoney(limits.sharesAlone, this.#work.presence, nowMs)) &&
        (entry.waiting.size === 0 || !isWaitedFor(limits, accounts)) &&
        fits(limits, accounts, call, nowMs)
    }
    if (parts.length === 0) return null
    return mayTake
      ? this.#work.take(parts, call, nowMs)
      : this.#work.admitLater(new WaitingCall(call, parts, nowMs))
  }

  rates(asked: LimitedCall): RateHeaders {
    const nowMs = this.#options.now()
    let requests: RateHeader | null = null
    let tokens: RateHeader | null = null
    for (const { subject } of this.#entriesOf(asked) ?? [])
      for (const holding of subject.callLimits(asked).rates) {
        if (holding.kind === 'requests') requests = strictest(requests, holding, nowMs)
        else if (holding.kind === 'tokens') tokens = strictest(tokens, holding, nowMs)
      }
    return requests === null && tokens === null ? NO_RATES : { requests, tokens }
  }

  rateOf(clientId: string, limit: Limit): RateHeader | null {
    if (limit.kind === 'budget') return null
    const { groupId, axis, value } = limit
    const { id } = subjectOf({ clientId: groupId === null ? clientId : null, groupId, axis, value })
    const holding = this.#work.subjects.get(id)?.subject.rates.get(limit.id)
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
    return this.#work.subjects.size
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

  /**
   * What the call is of that has limits, the narrowest first: what waits for a user's limit takes nothing meanwhile of what
   * all users share. `null`: its client has more values at work than this process keeps apart.
   */
  #entriesOf({ clientId, axes }: LimitedCall): readonly SubjectEntry[] | null {
    const { limitsOf, others } = this.#options
    const entries: SubjectEntry[] = []
    const limits = limitsOf(clientId)
    let isClientNext = limits.length > 0
    for (const subject of others.of(clientId, axes)) {
      if (isClientNext && subject.axis === null) {
        entries.push(this.#work.ofClient(clientId, limits))
        isClientNext = false
      }
      const entry = this.#work.of(subject, clientId)
      if (entry === null) return null
      entries.push(entry)
    }
    if (isClientNext) entries.push(this.#work.ofClient(clientId, limits))
    return entries
  }
}

function isWaitedFor({ rates }: CallLimits, accounts: readonly BudgetAccount[]): boolean {
  for (const { waiting } of rates) if (waiting.size > 0) return true
  for (const { waiting } of accounts) if (waiting.size > 0) return true
  return false
}

/** The figures of the limit of which least is left. */
function strictest(known: RateHeader | null, holding: RateHolding, nowMs: number): RateHeader {
  const remaining = Math.floor(holding.left(nowMs))
  if (known !== null && known.remaining <= remaining) return known
  return { limit: holding.amount, remaining, resetMs: Math.ceil(holding.resetMs(nowMs)) }
}
