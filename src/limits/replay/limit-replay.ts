import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import { coversModel } from '../covers-model.ts'
import { RateHolding } from '../engine/rate-holding.ts'
import { budgetPeriodOf, isOfKey, type Limit } from '../limit.ts'

/** A call of the past, as far as limits go. */
export interface PastUse {
  readonly keyId: string
  /** `null`: it asked for none. */
  readonly requestedModel: string | null
  /** The name that it is totalled under. */
  readonly model: string
  /** Milliseconds since 1970. */
  readonly arrivedAtMs: number
  readonly latencyMs: number
  /** Integer pico-USD; `null`: none is known. */
  readonly costPico: bigint | null
  /** It has no cost as its model had no price. */
  readonly isUnpriced: boolean
  /** Input and output tokens, cached ones included. */
  readonly tokens: number
  readonly cachedTokens: number
  /** What a job reports later than the call that began it: it costs, and asks for nothing. */
  readonly isSettlement: boolean
}

/** As at a gateway: so long a call waits for calls that run, and so often it is looked after. */
const WAIT_MS = 5_000
const TICK_MS = 100

interface Running {
  readonly endsAtMs: number
  readonly taken: number
  readonly used: number
  readonly bucket: number
  readonly account: Account | null
  readonly costPico: bigint
  /** What it holds of the account while it runs. */
  readonly reservedPico: bigint
}

/** A period of a budget: pico-USD. */
interface Account {
  spent: bigint
  reserved: bigint
}

/**
 * One limit over the past calls of one client, in the order in which they came: which of them it would have refused. One
 * that it refuses is taken never to have run. What a call reserves before it runs is taken to be what it used, which no
 * gateway knows before.
 */
export class LimitReplay {
  readonly #limit: Limit
  readonly #holding: RateHolding
  /** By their ends. */
  readonly #running: Running[] = []
  /** A call waits until those before it are decided: then it is this late. */
  #decidedAtMs = 0
  /** By the first day of each period. */
  readonly #accounts = new Map<UtcDay, Account>()

  /** @param spentPico What was spent in the period of `firstDay` before it. */
  constructor(limit: Limit, spentPico = 0n, firstDay: UtcDay = '') {
    this.#limit = limit
    this.#holding = new RateHolding(limit, Number(limit.amount))
    if (firstDay !== '') this.#accountOf(firstDay).spent = spentPico
  }

  /** Whether the limit holds for the call: it is asked about no other. */
  covers({ keyId, requestedModel, model, arrivedAtMs }: PastUse): boolean {
    const { model: pattern, since } = this.#limit
    if (!isOfKey(this.#limit, keyId) || (since !== null && utcDayOf(arrivedAtMs) < since)) return false
    if (pattern === null) return true
    return coversModel(pattern, model) || (requestedModel !== null && coversModel(pattern, requestedModel))
  }

  /** Whether the call would have been let through. In the order of their arrival. */
  admits(call: PastUse): boolean {
    const { kind, allowsUnpriced } = this.#limit
    const account = kind === 'budget' ? this.#accountOf(utcDayOf(call.arrivedAtMs)) : null
    const { costPico, requestedModel, isUnpriced } = call
    const cost = costPico ?? 0n
    if (call.isSettlement) {
      if (account !== null && this.charges(call)) account.spent += cost
      return true
    }
    if (account !== null && isUnpriced && !allowsUnpriced) return false
    // A call that runs a model asks for something, whatever came of it.
    const least = requestedModel === null ? 0n : 1n
    const asked = cost > least ? cost : least
    const needed = this.#holding.needOf(call.tokens)
    const arrivedAtMs = Math.max(call.arrivedAtMs, this.#decidedAtMs)
    for (let nowMs = arrivedAtMs; ; nowMs = this.#nextMs(nowMs, arrivedAtMs)) {
      this.#decidedAtMs = nowMs
      this.#endThose(nowMs)
      const decision = account === null ? this.#decideUse(needed, nowMs) : this.#decideCost(account, asked)
      if (decision === 'take') this.#take(call, account, { needed, asked, nowMs })
      if (decision !== 'wait') return decision === 'take'
      if (nowMs - arrivedAtMs >= WAIT_MS) return false
    }
  }

  #decideUse(needed: number, nowMs: number): 'take' | 'refuse' | 'wait' {
    if (this.#holding.used(nowMs) + needed <= this.#holding.amount) return 'take'
    // Calls that run hold the rest: their ends are waited for.
    return this.#holding.settled(nowMs) + needed > this.#holding.amount ? 'refuse' : 'wait'
  }

  #decideCost({ spent, reserved }: Account, asked: bigint): 'take' | 'refuse' | 'wait' {
    const { amount } = this.#limit
    if (asked === 0n) return 'take'
    if (spent >= amount) return 'refuse'
    // What is left may be less than one call needs: it runs alone then.
    return spent + reserved + asked <= amount || reserved === 0n ? 'take' : 'wait'
  }

  #accountOf(day: UtcDay): Account {
    const { per, since } = this.#limit
    const period = per === null ? day : budgetPeriodOf(per, since, day).fromDay
    const account = this.#accounts.get(period) ?? { spent: 0n, reserved: 0n }
    this.#accounts.set(period, account)
    return account
  }

  /** Whether a budget is charged what the call costs: it may cover one that asks for a model and gets another. */
  charges({ model }: PastUse): boolean {
    return this.#limit.model === null || coversModel(this.#limit.model, model)
  }

  #nextMs(nowMs: number, arrivedAtMs: number): number {
    const tickMs = nowMs + TICK_MS - ((nowMs - arrivedAtMs) % TICK_MS)
    return Math.min(tickMs, this.#running[0]?.endsAtMs ?? tickMs)
  }

  #take(
    call: PastUse,
    account: Account | null,
    { needed, asked, nowMs }: { readonly needed: number; readonly asked: bigint; readonly nowMs: number },
  ): void {
    const used = this.#limit.countsCached ? call.tokens : Math.max(0, call.tokens - call.cachedTokens)
    const bucket = account === null ? this.#holding.take(needed, nowMs) : 0
    if (account !== null) account.reserved += asked
    const endsAtMs = nowMs + call.latencyMs
    const costPico = this.charges(call) ? (call.costPico ?? 0n) : 0n
    const at = this.#running.findLastIndex((other) => other.endsAtMs <= endsAtMs)
    this.#running.splice(at + 1, 0, {
      ...{ endsAtMs, taken: needed, used, bucket, account, costPico, reservedPico: asked },
    })
  }

  #endThose(nowMs: number): void {
    const first = this.#running.findIndex(({ endsAtMs }) => endsAtMs > nowMs)
    for (const ended of this.#running.splice(0, first < 0 ? this.#running.length : first)) {
      const { account, taken, used, bucket, endsAtMs } = ended
      if (account !== null) {
        account.reserved -= ended.reservedPico
        account.spent += ended.costPico
      } else if (this.#holding.kind === 'tokens') this.#holding.settle(taken, used, bucket, endsAtMs)
      else if (this.#holding.kind === 'concurrent') this.#holding.giveBack(taken, bucket)
    }
  }
}
