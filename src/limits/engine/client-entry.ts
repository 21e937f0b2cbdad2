import type { ClientExchange } from '../sharing/client-exchange.ts'
import type { GatewayLives } from '../sharing/gateway-lives.ts'
import { DEAD_MS } from '../sharing/known-gateways.ts'
import type { RedisPresence } from '../sharing/redis-presence.ts'
import { rateWhileAway } from '../sharing/share-sizes.ts'
import type { CallLimits } from './call-limits.ts'
import type { Coverage } from './held-reservation.ts'
import type { LimitedClient } from './limited-client.ts'

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

/** A call that runs and needs more than this gateway holds. */
export interface GrowingCall {
  /** Monotonic milliseconds: what was reported since then has all of it. */
  readonly sinceMs: number
  readonly cover: () => Coverage
  readonly answer: (isCovered: boolean) => void
}

/** A client at work in this process: what it holds, and when that is reported. */
export class ClientEntry {
  readonly client: LimitedClient
  readonly exchange: ClientExchange
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
  growing: GrowingCall[] = []
  /** How many gateways had this client at the last exchange, this one included. */
  gateways = 1

  readonly #lives: GatewayLives

  constructor(client: LimitedClient, exchange: ClientExchange, lives: GatewayLives, nowMs: number) {
    this.client = client
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

  isIdle(nowMs: number): boolean {
    return nowMs - this.usedAtMs > IDLE_MS && this.client.waiting.size === 0 && !this.#hasSessions
  }

  /** Whether sessions run, which need more as they go on and cannot wait for it. */
  get #hasSessions(): boolean {
    for (const { progressed } of this.client.accounts.values()) if (progressed > 0n) return true
    return false
  }

  /** Brings the ceilings in line with whether Redis is there. */
  follow(presence: RedisPresence, fleet: number): void {
    const { client } = this
    if (!presence.isAway) {
      if (this.epoch === presence.epoch) return
      this.epoch = presence.epoch
      // An exchange may be under way that gives some of it back.
      for (const account of client.accounts.values())
        if (account.confirmed < account.ceiling) account.ceiling = account.confirmed
      for (const holding of client.rates.values())
        holding.ceiling = Math.min(holding.ceiling, holding.confirmed)
      return
    }
    const gateways = Math.max(this.gateways, this.exchange.isKnown ? 1 : fleet)
    for (const account of client.accounts.values()) {
      if (account.limit.whenAlone !== 'share') continue
      const isNew = account.takeShare(this.exchange.knownAtMs, gateways)
      if (!isNew && this.epoch === presence.epoch) continue
      const { share, confirmed } = account
      account.ceiling = share > confirmed ? share : confirmed
      account.lowAt = account.ceiling
    }
    if (this.epoch === presence.epoch) return
    this.epoch = presence.epoch
    for (const holding of client.rates.values()) {
      holding.ceiling = Math.max(holding.confirmed, rateWhileAway(holding.amount, gateways))
      holding.lowAt = holding.ceiling
    }
  }

  /** An exchange failed, and has left the ceilings as Redis may have them: what holds without Redis is above them. */
  needsShare(): void {
    this.epoch = 0
  }

  /** After an exchange. */
  countGateways(nowMs: number): void {
    let gateways = 1
    for (const { reportedAtMs } of this.client.gateways.others)
      if (nowMs - reportedAtMs < DEAD_MS) gateways += 1
    this.gateways = gateways
  }

  /** Whether more is asked for already, before it is needed. */
  isLow({ rates }: CallLimits, nowMs: number): boolean {
    for (const holding of rates) if (holding.used(nowMs) > holding.lowAt) return true
    for (const { used, lowAt } of this.client.accounts.values()) if (used > lowAt) return true
    return false
  }

  /** Whether a limit is nearly reached, or waited for elsewhere, so that every gateway has to know soon what others use. */
  isNear(nowMs: number): boolean {
    for (const holding of this.client.rates.values()) {
      const used = holding.used(nowMs) + holding.others.held
      if (holding.others.wants || used * 100 > holding.amount * NEAR_PERCENT) return true
    }
    for (const { amount, charged, reserved, view } of this.client.accounts.values()) {
      if (charged === null || view === null || view.wants) return true
      if ((charged + reserved + view.othersReserved) * 100n > amount * BigInt(NEAR_PERCENT)) return true
    }
    return false
  }

  /** Whether others count on hearing of this gateway: it has running calls. */
  get isRunning(): boolean {
    for (const { running } of this.client.rates.values()) if (running > 0) return true
    for (const { reserved } of this.client.accounts.values()) if (reserved > 0n) return true
    return false
  }

  isExchangeDue(nowMs: number): boolean {
    const sinceMs = nowMs - this.exchangedAtMs
    if (sinceMs < NEAR_INTERVAL_MS) return false
    if (this.client.waiting.size > 0) return true
    if (!this.isChanged && this.hasGivenBack && !this.isRunning) return false
    return sinceMs >= INTERVAL_MS || this.isNear(nowMs)
  }
}
