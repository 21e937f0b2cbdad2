import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import { coversModel } from '../covers-model.ts'
import { amountAt, budgetPeriodOf, type Limit } from '../limit.ts'
import type { GatewayLives } from '../sharing/gateway-lives.ts'
import { KnownGateways } from '../sharing/known-gateways.ts'
import { viewRate, viewSpent } from '../sharing/others-views.ts'
import { isAhead, mergeSnapshots, type SharedSnapshot } from '../sharing/spent-snapshots.ts'
import { accountKey, BudgetAccount } from './budget-account.ts'
import { type CallLimits, CallLimitsTable } from './call-limits.ts'
import { coversAnyOf } from './limiter.ts'
import { RateHolding } from './rate-holding.ts'
import { WaitingCalls } from './waiting-calls.ts'

/** Beyond the end of its period an account is kept for so long: calls that began in it still run. */
const KEEP_ACCOUNT_MS = 3_600_000
/** The period after the running one is read this early, so that its first call finds it known. */
const NEXT_PERIOD_MS = 60_000
/** A reading of Postgres that has counted less than the one before is taken only after this long. */
const REGRESSED_MS = 600_000
/** Records are reported at once that are more than this part of what is left of a budget. */
const OWED_PARTS = 16n
const NOT_LEARNED = (): readonly string[] => []

/** Names are input, so there must be an end. The oldest are dropped first. */
const MAX_NAMES = 200
const MAX_MODELS = 16
const NONE: readonly string[] = []

/**
 * Which models a client's calls ran by another name: a router's `auto`, or a name of the operator's own. Without this
 * such a name would pass a limit on the model that answers, for good.
 */
export class ModelsRun {
  readonly #ran = new Map<string, readonly string[]>()

  /**
   * A call that named one model was recorded with another.
   *
   * @returns Whether limits hold for calls by this name that did not before.
   */
  learn(limits: readonly Limit[], named: string | null, ran: string): boolean {
    if (named === null || named === ran) return false
    const known = this.#ran.get(named) ?? NONE
    if (known.includes(ran) || known.length >= MAX_MODELS) return false
    if (!limits.some(({ model }) => model !== null && coversModel(model, ran) && !coversAnyOf(model, named)))
      return false
    this.#ran.delete(named)
    this.#ran.set(named, [...known, ran])
    if (this.#ran.size > MAX_NAMES) for (const oldest of this.#ran.keys()) return this.#ran.delete(oldest)
    return true
  }

  get isEmpty(): boolean {
    return this.#ran.size === 0
  }

  by(named: string): readonly string[] {
    return this.#ran.get(named) ?? NONE
  }
}

/** One client's limits, and what this gateway holds of them. */
export class LimitedClient {
  readonly id: string
  /** Numbers its records. */
  readonly producer: string
  readonly gateways: KnownGateways
  readonly models: ModelsRun
  readonly waiting = new WaitingCalls()
  /** As the directory gave them: another list after every change. */
  limits: readonly Limit[]
  readonly accounts = new Map<string, BudgetAccount>()
  readonly rates = new Map<string, RateHolding>()
  /** Readings of Postgres, the oldest first. */
  snapshots: readonly SharedSnapshot[] = []
  /** Monotonic milliseconds. When the newest of them was heard of, and the last one that could not be used. */
  snapshotAtMs = Number.NEGATIVE_INFINITY
  #regressedSinceMs: number | null = null
  /** Of the readings that have it: how far they have counted this gateway's records. */
  #offsets: ReadonlyMap<string, number> = new Map()
  #table: CallLimitsTable
  /** By what was recorded: it is charged to the accounts that Postgres adds it to, whatever its call was named. */
  #recordTable: CallLimitsTable
  readonly #wallNow: () => number
  readonly #findAccount = (budget: Limit, day: UtcDay): BudgetAccount => this.#accountOf(budget, day)

  constructor(
    id: string,
    producer: string,
    gatewayId: string,
    lives: GatewayLives,
    limits: readonly Limit[],
    wallNow: () => number,
    models = new ModelsRun(),
  ) {
    this.id = id
    this.models = models
    this.producer = producer
    this.gateways = new KnownGateways(gatewayId, lives)
    this.limits = limits
    this.#wallNow = wallNow
    this.#table = this.#makeTable()
    this.#recordTable = this.#makeTable(NOT_LEARNED)
  }

  /** Whether one of the limits is for a model. */
  get hasModelLimits(): boolean {
    return this.#table.hasModels
  }

  callLimits(keyId: string, model: string | null): CallLimits {
    return this.#table.of(keyId, model)
  }

  accountsOf(limits: CallLimits, arrivedAtMs: number): readonly BudgetAccount[] {
    return limits.accountsOf(utcDayOf(arrivedAtMs), this.#findAccount)
  }

  /** Takes over a changed list of limits. What is held of those that stay is held on. */
  useLimits(limits: readonly Limit[]): void {
    this.limits = limits
    const byId = new Map(limits.map((limit) => [limit.id, limit]))
    for (const [id, holding] of this.rates) {
      const limit = byId.get(id)
      if (limit === undefined) this.rates.delete(id)
      else holding.limit = limit
    }
    for (const [key, account] of this.accounts) {
      const limit = byId.get(account.limitId)
      if (limit === undefined || limit.isSoft) this.accounts.delete(key)
      else account.limit = limit
    }
    this.#table = this.#makeTable()
    this.#recordTable = this.#makeTable(NOT_LEARNED)
    this.checkClock(this.#wallNow())
    this.waiting.rebind(({ keyId, model, arrivedAtMs }) => {
      const found = this.callLimits(keyId, model)
      return { limits: found, accounts: this.accountsOf(found, arrivedAtMs) }
    })
  }

  /** What depends on the time of day: raises begin and end, and so do periods. */
  checkClock(wallMs: number): void {
    for (const holding of this.rates.values()) holding.amount = Number(amountAt(holding.limit, wallMs))
    for (const [key, account] of this.accounts) {
      account.setAmount(amountAt(account.limit, wallMs))
      const isOver = wallMs > account.endsAtMs + KEEP_ACCOUNT_MS
      if (isOver && account.reserved === 0n && account.costs.size === 0) this.accounts.delete(key)
    }
  }

  /** The accounts of now, and of the periods that begin soon. */
  openAccounts(wallMs: number): void {
    for (const limit of this.limits) {
      if (limit.kind !== 'budget' || limit.isSoft || limit.per === null) continue
      this.#accountOf(limit, utcDayOf(wallMs))
      this.#accountOf(limit, utcDayOf(wallMs + NEXT_PERIOD_MS))
    }
  }

  /** A call that named one model has run another: what limits that one limits the next call by this name. */
  learnModel(named: string | null, ran: string | null): void {
    if (ran !== null && this.models.learn(this.limits, named, ran)) this.#table = this.#makeTable()
  }

  /** What the record of a call cost, of one key and model. */
  charge(
    keyId: string,
    model: string | null,
    arrivedAtMs: number,
    pico: bigint,
    sequence: number,
  ): readonly BudgetAccount[] {
    const accounts = this.accountsOf(this.#recordTable.of(keyId, model), arrivedAtMs)
    for (const account of accounts) account.record(pico, sequence, this.#offsets)
    return accounts
  }

  /** What a job reserves from its record on, until Postgres has its cost. */
  chargeJob(keyId: string, model: string | null, arrivedAtMs: number, pico: bigint, sequence: number): void {
    const accounts = this.charge(keyId, model, arrivedAtMs, pico, sequence)
    for (const { jobs } of accounts) jobs.record(pico, sequence, this.#offsets)
  }

  /** Readings of Postgres that others have reported. */
  learnSnapshots(reported: readonly SharedSnapshot[], nowMs: number): void {
    const merged = mergeSnapshots(this.snapshots, reported, this.#isUsed)
    if (merged !== this.snapshots) this.#useSnapshots(merged, nowMs)
  }

  /** A reading of this gateway's own. Numbered after all that are known. */
  addSnapshot(read: Omit<SharedSnapshot, 'number'>, nowMs: number): void {
    const newest = this.snapshots[this.snapshots.length - 1]
    if (newest !== undefined && !isAhead(read.offsets, newest.offsets)) {
      // Postgres was restored, and journals send again what it lacks. What is known stays right until they have.
      this.#regressedSinceMs ??= nowMs
      if (nowMs - this.#regressedSinceMs < REGRESSED_MS) return
    }
    this.#regressedSinceMs = null
    const added = { ...read, number: (newest?.number ?? 0) + 1 }
    this.#useSnapshots(mergeSnapshots([...this.snapshots, added], [], this.#isUsed), nowMs)
  }

  /** Works out again what the others hold: after they reported something, and as silence lasts. */
  updateViews(nowMs: number): void {
    const { others } = this.gateways
    const wallMs = this.#wallNow()
    for (const account of this.accounts.values()) {
      account.view = viewSpent(account, this.snapshots, this.gateways, nowMs, wallMs)
      if (account.view !== null) account.isOpen = false
    }
    for (const holding of this.rates.values()) holding.others = viewRate(holding, others, nowMs)
    this.#dropSnapshots()
  }

  /** Whether nothing would be lost with this object: all that it held is over, or counted by Postgres. */
  isIdle(nowMs: number): boolean {
    if (this.waiting.size > 0) return false
    for (const holding of this.rates.values()) if (holding.used(nowMs) > 0) return false
    for (const { reserved, costs } of this.accounts.values())
      if (reserved > 0n || costs.size > 0) return false
    return true
  }

  /**
   * Whether what was recorded and not reported is much of what is left: were this process killed, others would spend
   * that again.
   */
  get owesReport(): boolean {
    for (const account of this.accounts.values()) {
      const owed = account.recorded - account.reported
      if (owed <= 0n) continue
      const { charged, amount } = account
      if (charged === null || owed * OWED_PARTS > amount - charged) return true
    }
    return false
  }

  /** Whether it recorded costs that Postgres may not have counted. */
  get hasUncounted(): boolean {
    for (const { costs } of this.accounts.values()) if (costs.size > 0) return true
    return false
  }

  readonly #isUsed = (id: string): boolean => {
    for (const { view } of this.accounts.values()) if (view?.snapshotId === id) return true
    return false
  }

  #useSnapshots(snapshots: readonly SharedSnapshot[], nowMs: number): void {
    this.snapshots = snapshots
    this.snapshotAtMs = nowMs
    this.#count()
    this.updateViews(nowMs)
  }

  /** Answers each reading: what of this gateway's records is in it. */
  #count(): void {
    const offsets = new Map<string, number>()
    let oldest = Number.POSITIVE_INFINITY
    for (const { id, offsets: read } of this.snapshots) {
      const offset = read.get(this.producer)
      if (offset === undefined) continue
      offsets.set(id, offset)
      if (offset < oldest) oldest = offset
    }
    this.#offsets = offsets
    for (const account of this.accounts.values()) this.#answer(account)
    if (oldest === Number.POSITIVE_INFINITY) return
    for (const { costs, jobs } of this.accounts.values()) {
      costs.drop(oldest)
      jobs.costs.drop(oldest)
    }
  }

  #answer(account: BudgetAccount): void {
    const ids = new Set<string>()
    for (const { id } of this.snapshots) {
      ids.add(id)
      if (account.counted.has(id)) continue
      const offset = this.#offsets.get(id)
      // One that does not know this gateway was read before its first record, or is of no use.
      const counted =
        offset === undefined ? (account.recorded === 0n ? 0n : null) : account.costs.upTo(offset)
      if (counted === null) continue
      account.counted.set(id, counted)
      if (offset !== undefined) account.jobs.answer(id, offset)
    }
    for (const id of account.counted.keys()) if (!ids.has(id)) account.counted.delete(id)
    for (const id of account.jobs.counted.keys()) if (!ids.has(id)) account.jobs.counted.delete(id)
  }

  /** Drops readings older than all that are in use. */
  #dropSnapshots(): void {
    const { snapshots } = this
    let first = snapshots.length - 1
    for (const { view } of this.accounts.values()) {
      const at = view === null ? 0 : snapshots.findIndex(({ id }) => id === view.snapshotId)
      if (at < first) first = Math.max(at, 0)
    }
    if (first <= 0) return
    this.snapshots = snapshots.slice(first)
    this.#count()
  }

  #accountOf(limit: Limit, day: UtcDay): BudgetAccount {
    const period = budgetPeriodOf(limit.per ?? 'total', limit.since, day)
    const key = accountKey(limit.id, period.fromDay)
    const known = this.accounts.get(key)
    if (known !== undefined) return known
    const account = new BudgetAccount(limit, period, amountAt(limit, this.#wallNow()))
    this.accounts.set(key, account)
    this.#answer(account)
    return account
  }

  #makeTable(ranBy = (model: string) => this.models.by(model)): CallLimitsTable {
    const rateOf = (limit: Limit) => {
      const known = this.rates.get(limit.id)
      if (known !== undefined) return known
      const holding = new RateHolding(limit, Number(amountAt(limit, this.#wallNow())))
      this.rates.set(limit.id, holding)
      return holding
    }
    return new CallLimitsTable(this.limits, rateOf, ranBy)
  }
}
