import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import { amountAt, budgetPeriodOf, type Limit } from '../limit.ts'
import { holdsShare, isAllCounted } from '../sharing/gateway-field.ts'
import type { GatewayLives } from '../sharing/gateway-lives.ts'
import { KnownGateways } from '../sharing/known-gateways.ts'
import { viewRate, viewSpent } from '../sharing/others-views.ts'
import { isAhead, mergeSnapshots, type SharedSnapshot } from '../sharing/spent-snapshots.ts'
import type { Subject } from '../subject.ts'
import { accountKey, BudgetAccount, type RecordName } from './budget-account.ts'
import { type CallLimits, CallLimitsTable } from './call-limits.ts'
import type { LimitedCall } from './limiter.ts'
import type { ModelsRun } from './models-run.ts'
import { RateHolding } from './rate-holding.ts'

/** Beyond the end of its period an account is kept for so long: calls that began in it still run. */
const KEEP_ACCOUNT_MS = 3_600_000
/** The period after the running one is read this early, so that its first call finds it known. */
const NEXT_PERIOD_MS = 60_000
/** A reading of Postgres that has counted less than the one before is taken only after this long. */
const REGRESSED_MS = 600_000
/** Records are reported at once that are more than this part of what is left of a budget. */
const OWED_PARTS = 16n
const NO_OFFSETS: ReadonlyMap<string, number> = new Map()
const NOT_LEARNED = (): readonly string[] => []

/** What of a call decides which limits of a subject hold. */
type CallNames = Pick<LimitedCall, 'keyId' | 'model' | 'isHeld'>

/** One subject's limits, and what this gateway holds of them. */
export class LimitedSubject {
  readonly subject: Subject
  /** Number its records: of a client's one, of a group's perhaps all of this process. */
  readonly producers: readonly string[]
  readonly gateways: KnownGateways
  readonly models: ModelsRun
  /** As the directory gave them: another list after every change. */
  limits: readonly Limit[]
  readonly accounts = new Map<string, BudgetAccount>()
  readonly rates = new Map<string, RateHolding>()
  /** Readings of Postgres, the oldest first. */
  snapshots: readonly SharedSnapshot[] = []
  /** Monotonic milliseconds. When the newest of them was heard of, and the last one that could not be used. */
  snapshotAtMs = Number.NEGATIVE_INFINITY
  #regressedSinceMs: number | null = null
  /** Calls that run. This object learns what they will have cost, and which models they ran. */
  running = 0
  #table: CallLimitsTable
  /** Which version of `models` it has. */
  #tableVersion = 0
  /** By what was recorded: it is charged to the accounts that Postgres adds it to, whatever its call was named. */
  #recordTable: CallLimitsTable
  readonly #wallNow: () => number
  readonly #findAccount = (budget: Limit, day: UtcDay): BudgetAccount => this.#accountOf(budget, day)

  constructor(
    subject: Subject,
    producers: readonly string[],
    gatewayId: string,
    lives: GatewayLives,
    limits: readonly Limit[],
    wallNow: () => number,
    models: ModelsRun,
  ) {
    this.subject = subject
    this.models = models
    this.producers = producers
    this.gateways = new KnownGateways(gatewayId, lives)
    this.limits = limits
    this.#wallNow = wallNow
    this.#table = this.#makeTable()
    this.#recordTable = this.#makeRecordTable()
  }

  get id(): string {
    return this.subject.id
  }

  /** Whether one of the limits is for a model. */
  get hasModelLimits(): boolean {
    return this.#table.hasModels
  }

  callLimits({ keyId, model, isHeld }: CallNames): CallLimits {
    // Another subject of the client may have learned something.
    if (this.#table.hasModels && this.#tableVersion !== this.models.version) this.#table = this.#makeTable()
    return this.#table.of(keyId, model, isHeld)
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
    this.#makeTables()
    this.checkClock(this.#wallNow())
  }

  /** What depends on the time of day: raises begin and end, and so do periods. */
  checkClock(wallMs: number): void {
    for (const holding of this.rates.values()) holding.setAmount(Number(amountAt(holding.limit, wallMs)))
    let isDropped = false
    for (const [key, account] of this.accounts) {
      account.setAmount(amountAt(account.limit, wallMs))
      const isOver = wallMs > account.endsAtMs + KEEP_ACCOUNT_MS
      if (isOver && account.reserved === 0n && account.costs.size === 0)
        isDropped = this.accounts.delete(key) || isDropped
    }
    // They know accounts of the day that was asked for last, and a clock that is set back asks for it again.
    if (isDropped) this.#makeTables()
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
    if (ran !== null) this.models.learn(this.limits, named, ran)
  }

  /** What the record of a call cost, of one key and model. */
  charge(
    { keyId, model, isHeld }: CallNames,
    arrivedAtMs: number,
    pico: bigint,
    record: RecordName,
  ): readonly BudgetAccount[] {
    const accounts = this.accountsOf(this.#recordTable.of(keyId, model, isHeld), arrivedAtMs)
    for (const account of accounts) account.record(pico, record, this.snapshots)
    return accounts
  }

  /** What a job reserves from its record on, until Postgres has its cost. */
  chargeJob(names: CallNames, arrivedAtMs: number, pico: bigint, record: RecordName): void {
    const accounts = this.charge(names, arrivedAtMs, pico, record)
    for (const { jobs } of accounts) jobs.record(pico, record, this.snapshots)
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

  /** Whether nothing would be lost with this object while no call waits: all that it held is over, or counted by Postgres. */
  isIdle(nowMs: number): boolean {
    if (this.running > 0) return false
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

  /** Whether something of a budget is known to gateways alone: running calls, shares, and records that Postgres lacks. */
  get isOwed(): boolean {
    for (const { reserved } of this.accounts.values()) if (reserved > 0n) return true
    if (this.hasUncounted) return true
    const counted = this.snapshots[this.snapshots.length - 1]?.offsets ?? NO_OFFSETS
    return this.gateways.others.some(
      ({ field }) =>
        holdsShare(field) ||
        [...field.accounts.values()].some((share) => share.recorded > 0n && !isAllCounted(share, counted)),
    )
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
    const oldest = new Map<string, number>()
    for (const producer of this.producers)
      for (const { offsets } of this.snapshots) {
        const offset = offsets.get(producer)
        if (offset !== undefined) oldest.set(producer, Math.min(offset, oldest.get(producer) ?? offset))
      }
    for (const account of this.accounts.values()) this.#answer(account)
    for (const { costs, jobs } of this.accounts.values()) {
      costs.drop(oldest)
      jobs.costs.drop(oldest)
    }
  }

  #answer(account: BudgetAccount): void {
    const ids = new Set<string>()
    for (const { id, offsets } of this.snapshots) {
      ids.add(id)
      if (account.counted.has(id)) continue
      // One that does not know this gateway was read before its first record, or is of no use.
      const counted = account.costs.upTo(offsets)
      if (counted === null) continue
      account.counted.set(id, counted)
      account.jobs.answer(id, offsets)
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
    const wallMs = this.#wallNow()
    const account = new BudgetAccount(limit, period, amountAt(limit, wallMs), wallMs)
    this.accounts.set(key, account)
    this.#answer(account)
    return account
  }

  #makeTables(): void {
    this.#table = this.#makeTable()
    this.#recordTable = this.#makeRecordTable()
  }

  /** The same one where names of models decide nothing. */
  #makeRecordTable(): CallLimitsTable {
    return this.#table.hasModels ? this.#makeTable(NOT_LEARNED) : this.#table
  }

  #makeTable(ranBy = (model: string) => this.models.by(model)): CallLimitsTable {
    this.#tableVersion = this.models.version
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
