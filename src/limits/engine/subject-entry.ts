import type { Limit } from '../limit.ts'
import type { GatewayLives } from '../sharing/gateway-lives.ts'
import { DEAD_MS } from '../sharing/known-gateways.ts'
import type { CallToPlan } from '../sharing/plan-shares.ts'
import type { RedisPresence } from '../sharing/redis-presence.ts'
import { rateWhileAway } from '../sharing/share-sizes.ts'
import type { SubjectExchange } from '../sharing/subject-exchange.ts'
import type { BudgetAccount } from './budget-account.ts'
import type { CallLimits } from './call-limits.ts'
import { type Coverage, fits } from './held-reservation.ts'
import type { LimitedSubject } from './limited-subject.ts'
import type { CallInLine, CallToLimit, LimitRefusal, Reservation } from './limiter.ts'
import type { RateHolding } from './rate-holding.ts'

/** Others drop what a gateway holds of rates when it was silent for 5 s. It stops to use it before that. */
const RATES_VALID_MS = 4_000
/** What is held could not be reported for so long: it is said in another way that this gateway runs. */
const CUT_OFF_MS = 1_700
/** From this part of a limit on, gateways report to each other ten times a second. */
const NEAR_PERCENT = 80

const NEAR_INTERVAL_MS = 100
const INTERVAL_MS = 1_000
/** A client that makes no calls for this long holds nothing in advance. */
const IDLE_MS = 1_000

/** So long a call that runs waits for more than it had. */
const GROWING_WAIT_MS = 2_000

/** A call that runs and needs more than this gateway holds. */
interface GrowingCall {
  /** Monotonic milliseconds: what was reported since then has all of it. */
  readonly sinceMs: number
  readonly cover: () => Coverage
  readonly answer: (isCovered: boolean) => void
}

/** A subject at work in this process: what it holds, when that is reported, and who waits for it. */
export class SubjectEntry {
  readonly subject: LimitedSubject
  readonly exchange: SubjectExchange
  /** Of a value: the client whose call had it first. */
  readonly broughtBy: string | null
  /** Calls that wait, in the order in which they came. */
  readonly waiting = new Set<WaitingCall>()
  /** Monotonic milliseconds: its last call, and its last exchange. */
  usedAtMs: number
  exchangedAtMs = Number.NEGATIVE_INFINITY
  /** When Postgres was asked last, and whether it has not answered. */
  readAtMs = Number.NEGATIVE_INFINITY
  isReading = false
  readFailedAtMs = Number.NEGATIVE_INFINITY
  isExchanging = false
  /** An exchange begins in a moment. */
  isAsking = false
  /** Something has happened that the exchange under way does not report. */
  isBehind = false
  /** Something has happened since the last exchange. */
  isChanged = true
  /** At the last exchange it made no calls, and nothing was held in advance. */
  hasGivenBack = false
  /** It is in the list of those that are looked at often. */
  isBusy = false
  /** Which state of Redis the ceilings are for. */
  epoch = 0
  #growing: readonly GrowingCall[] = []
  /** How many gateways had this client at the last exchange, this one included. */
  gateways = 1

  readonly #lives: GatewayLives

  constructor(
    subject: LimitedSubject,
    exchange: SubjectExchange,
    lives: GatewayLives,
    nowMs: number,
    broughtBy: string | null,
  ) {
    this.subject = subject
    this.broughtBy = broughtBy
    this.#lives = lives
    this.exchange = exchange
    this.usedAtMs = nowMs
  }

  /** Whether what this gateway holds of rates may be used without asking. */
  hasRates({ rates }: CallLimits, presence: RedisPresence, nowMs: number): boolean {
    if (this.epoch !== presence.epoch) return false
    return rates.length === 0 || presence.isAway || nowMs - this.exchange.reportedAtMs < RATES_VALID_MS
  }

  /** The same of a budget, or of all that a call has: `sharesAlone` where each says that a gateway goes on alone. */
  hasMoney(sharesAlone: boolean, presence: RedisPresence, nowMs: number): boolean {
    if (presence.isAway && sharesAlone) return this.epoch === presence.epoch
    return this.#lives.keeps(this.exchange.reportedAtMs, nowMs)
  }

  /** Whether this gateway holds something, and could not report it for a while. */
  isCutOff(nowMs: number): boolean {
    return nowMs - this.exchange.reportedAtMs > CUT_OFF_MS && (!this.hasGivenBack || this.isRunning)
  }

  /** Takes over a changed list of limits: each call that waits is held against those of now. */
  useLimits(limits: readonly Limit[]): void {
    this.subject.useLimits(limits)
    // What holds without Redis is a part of what the limits are now.
    this.epoch = 0
    for (const waiting of this.waiting) waiting.rebind(this)
  }

  isIdle(nowMs: number): boolean {
    return nowMs - this.usedAtMs > IDLE_MS && this.waiting.size === 0 && !this.#hasSessions
  }

  /** Whether sessions run, which need more as they go on and cannot wait for it. */
  get #hasSessions(): boolean {
    for (const { progressed } of this.subject.accounts.values()) if (progressed > 0n) return true
    return false
  }

  /** Brings the ceilings in line with whether Redis is there. */
  follow(presence: RedisPresence, fleet: number): void {
    const { subject } = this
    if (!presence.isAway) {
      if (this.epoch === presence.epoch) return
      this.epoch = presence.epoch
      // An exchange may be under way that gives some of it back.
      for (const account of subject.accounts.values())
        if (account.confirmed < account.ceiling) account.ceiling = account.confirmed
      for (const holding of subject.rates.values())
        holding.ceiling = Math.min(holding.ceiling, holding.confirmed)
      return
    }
    const gateways = Math.max(this.gateways, this.exchange.isKnown ? 1 : fleet)
    for (const account of subject.accounts.values()) {
      if (account.limit.whenAlone !== 'share') continue
      const isNew = account.takeShare(this.exchange.knownAtMs, gateways)
      if (!isNew && this.epoch === presence.epoch) continue
      const { share, confirmed } = account
      account.ceiling = share > confirmed ? share : confirmed
      account.lowAt = account.ceiling
    }
    if (this.epoch === presence.epoch) return
    this.epoch = presence.epoch
    for (const holding of subject.rates.values()) {
      holding.ceiling = Math.max(holding.confirmed, rateWhileAway(holding.amount, gateways))
      holding.lowAt = holding.ceiling
    }
  }

  /** An exchange failed, and has left the ceilings as Redis may have them: what holds without Redis is above them. */
  needsShare(): void {
    this.epoch = 0
  }

  /** Whether a call that runs may have what it needs, once others know of it. */
  mayGrow(cover: () => Coverage, sinceMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#growing = [...this.#growing, { sinceMs, cover, answer: resolve }]
    return promise
  }

  /** Answers those of which it is known. */
  answerGrowing(presence: RedisPresence, nowMs: number): void {
    const { reportedAtMs, isSettled } = this.exchange
    this.#growing = this.#growing.filter(({ sinceMs, cover, answer }) => {
      const found = cover()
      const isKnown = reportedAtMs > sinceMs && isSettled
      const isOver = presence.isAway || nowMs - sinceMs >= GROWING_WAIT_MS
      if (found !== 'covered' && !isOver && !(isKnown && found === 'beyond')) return true
      answer(found === 'covered')
      return false
    })
  }

  /** After an exchange. */
  countGateways(nowMs: number): void {
    let gateways = 1
    for (const { reportedAtMs } of this.subject.gateways.others)
      if (nowMs - reportedAtMs < DEAD_MS) gateways += 1
    this.gateways = gateways
  }

  /** Whether more is asked for already, before it is needed. */
  isLow({ rates }: CallLimits, nowMs: number): boolean {
    for (const holding of rates) if (holding.used(nowMs) > holding.lowAt) return true
    for (const { used, lowAt } of this.subject.accounts.values()) if (used > lowAt) return true
    return false
  }

  /** Whether a limit is nearly reached, or waited for elsewhere, so that every gateway has to know soon what others use. */
  isNear(nowMs: number): boolean {
    for (const holding of this.subject.rates.values()) {
      const used = holding.used(nowMs) + holding.others.held
      if (holding.others.wants || used * 100 > holding.amount * NEAR_PERCENT) return true
    }
    for (const { amount, charged, reserved, view } of this.subject.accounts.values()) {
      if (charged === null || view === null || view.wants) return true
      if ((charged + reserved + view.othersReserved) * 100n > amount * BigInt(NEAR_PERCENT)) return true
    }
    return false
  }

  /** Whether others count on hearing of this gateway: it has running calls. */
  get isRunning(): boolean {
    for (const { running } of this.subject.rates.values()) if (running > 0) return true
    for (const { reserved } of this.subject.accounts.values()) if (reserved > 0n) return true
    return false
  }

  isExchangeDue(nowMs: number): boolean {
    const sinceMs = nowMs - this.exchangedAtMs
    if (sinceMs < NEAR_INTERVAL_MS) return false
    if (this.waiting.size > 0) return true
    if (!this.isChanged && this.hasGivenBack && !this.isRunning) return false
    return sinceMs >= INTERVAL_MS || this.isNear(nowMs)
  }
}

/** A process that has seen to nothing for longer stood still. */
const LONGEST_STEP_MS = 250

/** What of a call one of its subjects has to allow. */
export interface CallPart {
  readonly entry: SubjectEntry
  readonly limits: CallLimits
  readonly accounts: readonly BudgetAccount[]
}

let places = 0

/** A call that does not fit yet: into what this gateway holds, or into what running calls have left. */
export class WaitingCall implements CallInLine, CallToPlan {
  readonly call: CallToLimit
  readonly place = ++places
  /** Of all its subjects, in the order in which it is to get what it needs of them. */
  parts: readonly CallPart[]
  /** Monotonic milliseconds. */
  readonly sinceMs: number
  /** How long this process has seen to it: while it stands still, nothing is waited for. */
  waitedMs = 0
  /** Since when only what other gateways hold keeps it from its rates, and how long it had waited by then. */
  heldSinceMs: number
  #heldFromMs = 0
  #seenAtMs: number
  #shortOf: SubjectEntry | null = null
  /** Subjects of which nothing was asked for it, as it had not got enough of those before. */
  readonly deferred = new Set<LimitedSubject>()
  readonly answer = Promise.withResolvers<Reservation | LimitRefusal | null>()

  constructor(call: CallToLimit, parts: readonly CallPart[], sinceMs: number) {
    this.call = call
    this.parts = parts
    this.sinceMs = sinceMs
    this.heldSinceMs = sinceMs
    this.#seenAtMs = sinceMs
  }

  /** Until now at least it waited for running calls. */
  waitsForRunning(nowMs: number): void {
    this.heldSinceMs = nowMs
    this.#heldFromMs = this.waitedMs
  }

  /** The first subject that it is short of. Of what comes behind it nothing was asked so far. */
  isShortOf(entry: SubjectEntry, nowMs: number): void {
    if (this.#shortOf !== null && this.#shortOf !== entry) this.waitsForRunning(nowMs)
    this.#shortOf = entry
  }

  get heldForMs(): number {
    return this.waitedMs - this.#heldFromMs
  }

  seen(nowMs: number): void {
    this.waitedMs += Math.min(nowMs - this.#seenAtMs, LONGEST_STEP_MS)
    this.#seenAtMs = nowMs
  }

  waitsFor(subjectId: string, nowMs: number): boolean {
    let isBefore = true
    for (const { entry, limits, accounts } of this.parts) {
      if (entry.subject.id === subjectId) isBefore = false
      else if ((isBefore || entry.broughtBy !== null) && !fits(limits, accounts, this.call, nowMs))
        return false
    }
    return true
  }

  /** What it needs of a subject is asked for once it has enough of those before. */
  nextToAsk(nowMs: number): SubjectEntry | null {
    if (this.deferred.size === 0) return null
    for (const { entry, limits, accounts } of this.parts) {
      if (this.deferred.delete(entry.subject)) return entry
      if (!fits(limits, accounts, this.call, nowMs)) return null
    }
    return null
  }

  /** Waits behind all that wait for one of its limits already. */
  enter(): void {
    for (const part of this.parts) {
      part.entry.waiting.add(this)
      for (const holding of holdingsOf(part)) holding.waiting.add(this)
    }
  }

  leave(): void {
    for (const part of this.parts) {
      part.entry.waiting.delete(this)
      for (const holding of holdingsOf(part)) holding.waiting.delete(this)
    }
  }

  /** The limits of a subject have changed: the call is held against those of now. */
  rebind(entry: SubjectEntry): void {
    const limits = entry.subject.callLimits(this.call)
    const accounts = entry.subject.accountsOf(limits, this.call.arrivedAtMs)
    this.parts = this.parts.map((part) => {
      if (part.entry !== entry) return part
      for (const holding of holdingsOf(part)) holding.waiting.delete(this)
      const rebound = { entry, limits, accounts }
      for (const holding of holdingsOf(rebound)) holding.waiting.add(this)
      return rebound
    })
  }
}

function holdingsOf({ limits, accounts }: CallPart): readonly (RateHolding | BudgetAccount)[] {
  return [...limits.rates, ...accounts]
}
