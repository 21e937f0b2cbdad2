import type { UtcDay } from '../../domain/utc-day.ts'
import { isOfKey, type Limit } from '../limit.ts'
import type { BudgetAccount } from './budget-account.ts'
import { ANY_MODEL, coversAnyOf, type IsHeld } from './limiter.ts'
import type { RateHolding } from './rate-holding.ts'

/** Whether a limit holds for calls of this key and model; with `isHeld` for what runs beside a session's own model. */
export function holdsFor(limit: Limit, keyId: string, model: string | null, isHeld?: IsHeld): boolean {
  if (!isOfKey(limit, keyId)) return false
  if (isHeld !== undefined && (limit.model === null || isHeld(limit))) return false
  if (model === ANY_MODEL) return true
  if (limit.model === null) return true
  return model !== null && coversAnyOf(limit.model, model)
}

/** Whether it is a hard budget. */
function isHardBudget({ kind, isSoft, per }: Limit): boolean {
  return kind === 'budget' && !isSoft && per !== null
}

/** Whether it refuses calls whose model has no price. */
export function refusesUnpriced(limit: Limit): boolean {
  return isHardBudget(limit) && !limit.allowsUnpriced
}

/** What holds for the calls of one key and model of a client. All of it has to allow a call: so the strictest decides. */
export class CallLimits {
  readonly rates: readonly RateHolding[]
  /** Budgets that refuse; those that only alert are not asked here. */
  readonly budgets: readonly Limit[]
  readonly refusesUnpriced: boolean
  /** Whether each budget says that a gateway goes on alone. */
  readonly sharesAlone: boolean
  readonly hasTokens: boolean
  /** The accounts of the day that was asked for last. */
  #day: UtcDay | null = null
  #accounts: readonly BudgetAccount[] = []

  constructor(rates: readonly RateHolding[], budgets: readonly Limit[]) {
    this.rates = rates
    this.budgets = budgets
    this.refusesUnpriced = budgets.some(refusesUnpriced)
    this.sharesAlone = budgets.every(({ whenAlone }) => whenAlone === 'share')
    this.hasTokens = rates.some(({ kind }) => kind === 'tokens')
  }

  get isEmpty(): boolean {
    return this.rates.length === 0 && this.budgets.length === 0
  }

  /** The accounts that a call of this day is charged to. */
  accountsOf(day: UtcDay, find: (budget: Limit, day: UtcDay) => BudgetAccount): readonly BudgetAccount[] {
    if (day !== this.#day) {
      this.#accounts = this.budgets.map((budget) => find(budget, day))
      this.#day = day
    }
    return this.#accounts
  }
}

const NO_LIMITS = new CallLimits([], [])

/** Beyond this many, keys and models are worked out again: a client may invent models. */
const MAX_KNOWN = 1_000

/** Works out which limits hold for a call, once for each key and model. */
export class CallLimitsTable {
  readonly #limits: readonly Limit[]
  readonly #rateOf: (limit: Limit) => RateHolding
  readonly #ranBy: (model: string) => readonly string[]
  readonly #hasKeys: boolean
  readonly hasModels: boolean
  #byKey = new Map<string, Map<string | null, CallLimits>>()
  #known = 0
  /** Of calls whose key and model do not matter. */
  #only: CallLimits | null = null

  /** @param ranBy models that calls by this name ran: limits on those hold too. */
  constructor(
    limits: readonly Limit[],
    rateOf: (limit: Limit) => RateHolding,
    ranBy: (model: string) => readonly string[],
  ) {
    this.#limits = limits
    this.#rateOf = rateOf
    this.#ranBy = ranBy
    this.#hasKeys = limits.some(({ keyId }) => keyId !== null)
    this.hasModels = limits.some(({ model }) => model !== null)
    if (!this.#hasKeys && !this.hasModels) this.#only = this.#find('', null)
  }

  of(keyId: string, model: string | null, isHeld?: IsHeld): CallLimits {
    if (isHeld !== undefined) return this.hasModels ? this.#find(keyId, model, isHeld) : NO_LIMITS
    if (this.#only !== null) return this.#only
    const key = this.#hasKeys ? keyId : ''
    const name = this.hasModels ? model : null
    const known = this.#byKey.get(key)?.get(name)
    if (known !== undefined) return known
    if (this.#known >= MAX_KNOWN) {
      this.#byKey = new Map()
      this.#known = 0
    }
    const found = this.#find(keyId, model)
    const ofKey = this.#byKey.get(key) ?? new Map<string | null, CallLimits>()
    this.#byKey.set(key, ofKey.set(name, found))
    this.#known += 1
    return found
  }

  #find(keyId: string, model: string | null, isHeld?: IsHeld): CallLimits {
    const ran = model === null ? [] : this.#ranBy(model)
    const holding = this.#limits.filter(
      (limit) =>
        holdsFor(limit, keyId, model, isHeld) || ran.some((other) => holdsFor(limit, keyId, other, isHeld)),
    )
    return new CallLimits(
      holding.filter(({ kind }) => kind !== 'budget').map(this.#rateOf),
      holding.filter(isHardBudget),
    )
  }
}
