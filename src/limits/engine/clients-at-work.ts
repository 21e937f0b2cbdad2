import type { Limit } from '../limit.ts'
import { ClientExchange } from '../sharing/client-exchange.ts'
import { GatewayLives, type LifeSigns } from '../sharing/gateway-lives.ts'
import type { LimitStore, ReadSpent } from '../sharing/limit-store.ts'
import { RedisPresence } from '../sharing/redis-presence.ts'
import { isReadingDue, SnapshotReader } from '../sharing/snapshot-reader.ts'
import type { BudgetAccount } from './budget-account.ts'
import type { CallLimits } from './call-limits.ts'
import { ClientEntry, type GrowingCall } from './client-entry.ts'
import { type Blocked, decideWaiting } from './decide-waiting.ts'
import { type Coverage, HeldReservation, type ReservationKeeper } from './held-reservation.ts'
import type { ModelsRun } from './limited-client.ts'
import { LimitedClient } from './limited-client.ts'
import type { CallToLimit, LimitRefusal, Reservation } from './limiter.ts'
import { refuseByRate, refuseReserved } from './refusals.ts'
import type { WaitingCall } from './waiting-calls.ts'

export interface LimitEngineOptions {
  /** Unlike that of any other process, also on the same host, and of those that ran before. */
  readonly gatewayId: string
  /** The limits that may hold for a client: the same list until one of them changes. */
  readonly limitsOf: (clientId: string) => readonly Limit[]
  readonly store: LimitStore
  readonly readSpent: ReadSpent
  readonly lifeSigns: LifeSigns
  /** Whether another gateway may have run shortly before. Rejects when that cannot be known. */
  readonly hadPeers: () => Promise<boolean>
  /** Who numbers a client's records in this process. */
  readonly producerOf: (clientId: string) => string
  /** Monotonic milliseconds, and milliseconds since 1970. */
  readonly now: () => number
  readonly wallNow: () => number
  /** Runs something soon, after what is under way. */
  readonly defer: (task: () => void) => void
}

/** As many calls of a client wait at most. */
const MAX_WAITING = 256
/** So long a call that runs waits for more than it had. */
const GROWING_WAIT_MS = 2_000
/** Clients at work are looked at this often, all others more seldom. */
const SWEEP_MS = 5_000
/** What is held of a client without calls is dropped after this long, if nothing would be lost. */
const DROP_MS = 60_000
/** Clients of which it is kept which models their names run. */
const MAX_MODELS_KEPT = 1_000

/** The clients that this process has something of in memory: what of them is reported, read, and waited for. */
export class ClientsAtWork {
  readonly presence = new RedisPresence()
  readonly clients = new Map<string, ClientEntry>()
  readonly #gatewayId: string
  readonly #options: LimitEngineOptions
  readonly #reader: SnapshotReader
  readonly #lives: GatewayLives
  /** Of clients that were at work. */
  readonly #models = new Map<string, ModelsRun>()
  readonly #busy = new Set<ClientEntry>()
  /** Clients of which calls that wait are to be looked at. */
  readonly #freed = new Set<ClientEntry>()
  #sweptAtMs = Number.NEGATIVE_INFINITY
  #counter = 0
  /** Most gateways that a client had: taken where nothing is known of a client. */
  #fleet = 1
  #isAsking = false
  readonly #nextCounter = () => ++this.#counter
  readonly #keeper: ReservationKeeper = {
    freed: (client) => this.#free(client),
    grown: (client, limits) => this.#grow(client, limits),
    asked: (client, cover) => this.#awaitMore(client, cover),
  }
  readonly #serveFreed = () => {
    for (const entry of this.#freed) {
      this.#freed.delete(entry)
      this.#serve(entry)
      if (entry.client.waiting.size > 0) this.#askSoon(entry)
    }
  }

  constructor(options: LimitEngineOptions) {
    this.#options = options
    this.#gatewayId = options.gatewayId
    this.#reader = new SnapshotReader(options.readSpent, this.#gatewayId, options.now, (entry, read) => {
      const { isAway } = this.presence
      if (read !== null) entry.client.addSnapshot(read, isAway ? entry.exchange.knownAtMs : options.now())
      this.#reportSoon(entry)
      this.#serve(entry)
    })
    this.#lives = new GatewayLives(options.lifeSigns, options.now, () => this.#reportAll())
    const onPeers = (hadPeers: boolean) => hadPeers || this.presence.isAlone()
    options.hadPeers().then(onPeers, () => {
      // Not known, so there may be some.
    })
  }

  /** Calls that wait now. */
  get waiting(): number {
    let waiting = 0
    for (const { client } of this.#busy) waiting += client.waiting.size
    return waiting
  }

  /** Reports to the others what is due, reads what is due, and looks at calls that wait. */
  tick(): void {
    const nowMs = this.#options.now()
    const wallMs = this.#options.wallNow()
    if (this.presence.shouldAsk(nowMs)) void this.#askRedis()
    let isCutOff = false
    for (const entry of this.#busy) {
      this.#check(entry, nowMs, wallMs)
      if (entry.isCutOff(nowMs)) isCutOff = true
    }
    this.#lives.tick(isCutOff)
    if (nowMs - this.#sweptAtMs < SWEEP_MS) return
    this.#sweptAtMs = nowMs
    for (const entry of this.clients.values()) if (!entry.isBusy) this.#sweep(entry, nowMs, wallMs)
  }

  /** The connection to Redis is another one: what Redis knows may be older than it was. */
  reconnected(): void {
    this.presence.reconnected(this.#options.now())
    void this.#askRedis()
    if (!this.presence.isAway) this.#reportAll()
  }

  /** What this gateway holds and does not use is given back. */
  async giveBack(): Promise<void> {
    const running: Promise<void>[] = []
    for (const entry of this.clients.values()) {
      entry.usedAtMs = Number.NEGATIVE_INFINITY
      if (!this.presence.isAway && (entry.isChanged || !entry.hasGivenBack))
        running.push(this.#exchange(entry))
    }
    await Promise.all(running)
  }

  open(clientId: string, limits: readonly Limit[]): ClientEntry {
    const { producerOf, store, now, wallNow } = this.#options
    const gatewayId = this.#gatewayId
    const models = this.#models.get(clientId)
    const lives = this.#lives
    const client = new LimitedClient(
      clientId,
      producerOf(clientId),
      gatewayId,
      lives,
      limits,
      wallNow,
      models,
    )
    const nextCounter = this.#nextCounter
    const { presence } = this
    const exchange = new ClientExchange({ client, gatewayId, store, nextCounter, presence, now, wallNow })
    const entry = new ClientEntry(client, exchange, lives, now())
    this.clients.set(clientId, entry)
    return entry
  }

  take(
    entry: ClientEntry,
    limits: CallLimits,
    accounts: readonly BudgetAccount[],
    call: CallToLimit,
    nowMs: number,
  ): Reservation {
    const { now } = this.#options
    const held = new HeldReservation(entry.client, limits, accounts, call, nowMs, now, this.#keeper)
    this.#changed(entry)
    if (!entry.isAsking && !this.presence.isAway && entry.isLow(limits, nowMs)) this.#askSoon(entry)
    return held
  }

  admitLater(
    entry: ClientEntry,
    waiting: WaitingCall,
  ): Reservation | LimitRefusal | Promise<Reservation | LimitRefusal | null> {
    const { call, limits, accounts, sinceMs: nowMs } = waiting
    const { client } = entry
    entry.follow(this.presence, this.#fleet)
    const blocked: Blocked = new Set()
    for (const holding of limits.rates) if (holding.waiting > 0) blocked.add(holding)
    for (const account of accounts) if (account.waiting > 0) blocked.add(account)
    const decision = decideWaiting(waiting, entry, this.presence, blocked, nowMs)
    if (decision === 'take') return this.take(entry, limits, accounts, call, nowMs)
    if (decision !== 'wait') return decision
    if (client.waiting.size >= MAX_WAITING) return refuseWaiting(limits, accounts)
    client.waiting.add(waiting)
    this.#changed(entry)
    this.#askSoon(entry)
    return waiting.answer.promise
  }

  /** Looks at the calls that wait, in their order. */
  #serve(entry: ClientEntry): void {
    const { client } = entry
    entry.follow(this.presence, this.#fleet)
    entry.growing = entry.growing.filter((growing) => !this.#answerGrowing(entry, growing))
    if (client.waiting.size === 0) return
    const nowMs = this.#options.now()
    const blocked: Blocked = new Set()
    client.waiting.answerEach((waiting) => {
      const decision = decideWaiting(waiting, entry, this.presence, blocked, nowMs)
      if (decision !== 'take') return decision
      return this.take(entry, waiting.limits, waiting.accounts, waiting.call, nowMs)
    })
  }

  /** A call that runs needs more than it had: more is asked for at once, as it cannot wait for that. */
  #grow(client: LimitedClient, limits: CallLimits): boolean {
    const entry = this.clients.get(client.id)
    if (entry?.client !== client) return true
    const nowMs = this.#options.now()
    this.#changed(entry)
    if (entry.isLow(limits, nowMs)) this.#askSoon(entry)
    // A process that stood still is not cut off: Redis answers it in a moment.
    const { presence } = this
    return !presence.isAway || limits.sharesAlone || entry.hasMoney(false, presence, nowMs)
  }

  async #awaitMore(client: LimitedClient, cover: () => Coverage): Promise<boolean> {
    const entry = this.clients.get(client.id)
    if (entry?.client !== client) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    entry.growing.push({ sinceMs: this.#options.now(), cover, answer: resolve })
    this.#askSoon(entry)
    return await promise
  }

  /** @returns Whether it is answered. */
  #answerGrowing({ exchange }: ClientEntry, { sinceMs, cover, answer }: GrowingCall): boolean {
    const found = cover()
    const isKnown = exchange.reportedAtMs > sinceMs && exchange.isSettled
    const isOver = this.presence.isAway || this.#options.now() - sinceMs >= GROWING_WAIT_MS
    if (found !== 'covered' && !isOver && !(isKnown && found === 'beyond')) return false
    answer(found === 'covered')
    return true
  }

  #free(client: LimitedClient): void {
    const entry = this.clients.get(client.id)
    if (entry?.client !== client) return
    this.#changed(entry)
    // Now, and so before the end of the answer: its client may kill this process as soon as it has that.
    if (!this.presence.isAway && client.owesReport) void this.#exchange(entry)
    if (client.waiting.size === 0) return
    if (this.#freed.size === 0) this.#options.defer(this.#serveFreed)
    this.#freed.add(entry)
  }

  #changed(entry: ClientEntry): void {
    entry.isChanged = true
    if (entry.isBusy) return
    entry.isBusy = true
    this.#busy.add(entry)
  }

  #askSoon(entry: ClientEntry): void {
    if (entry.isAsking || this.presence.isAway) return
    entry.isAsking = true
    this.#options.defer(() => {
      entry.isAsking = false
      void this.#exchange(entry)
    })
  }

  async #exchange(entry: ClientEntry): Promise<void> {
    if (entry.isExchanging) {
      entry.isBehind = true
      return
    }
    const { now } = this.#options
    entry.isExchanging = true
    entry.isBehind = false
    entry.isChanged = false
    entry.exchangedAtMs = now()
    const isIdle = entry.isIdle(entry.exchangedAtMs)
    try {
      await entry.exchange.run(isIdle)
      this.presence.answered()
      entry.hasGivenBack = isIdle
      entry.countGateways(now())
      this.#fleet = Math.max(this.#fleet, entry.gateways)
    } catch {
      this.presence.failed()
      entry.isChanged = true
      entry.needsShare()
    }
    entry.isExchanging = false
    this.#serve(entry)
    this.#readIfDue(entry, now())
    if (entry.isBehind) this.#askSoon(entry)
  }

  #readIfDue(entry: ClientEntry, nowMs: number): void {
    if (isReadingDue(entry, this.#gatewayId, nowMs)) this.#reader.request(entry)
  }

  /** A reading is of use once the others have answered it, and calls may wait for it. */
  #reportSoon(entry: ClientEntry): void {
    this.#changed(entry)
    this.#askSoon(entry)
  }

  /** Whether it is there, and has what it had. */
  async #askRedis(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    const { presence } = this
    const wasAway = presence.isAway
    const { now, store } = this.#options
    try {
      const askedAtMs = now()
      const { beganMs, ageMs } = await store.keptSince()
      presence.answered()
      if (presence.keeps(beganMs, ageMs, askedAtMs, now()) || wasAway) this.#reportAll()
    } catch {
      presence.failed()
    }
    this.#isAsking = false
  }

  /** Redis may lack what this gateway has reported. */
  #reportAll(): void {
    for (const entry of this.clients.values())
      if (entry.isBusy || entry.client.hasUncounted) this.#reportSoon(entry)
  }

  #check(entry: ClientEntry, nowMs: number, wallMs: number): void {
    const { client } = entry
    this.#followLimits(client, wallMs)
    if (!entry.isIdle(nowMs)) client.openAccounts(wallMs)
    this.#serve(entry)
    if (this.presence.isAway) this.#readIfDue(entry, nowMs)
    else if (entry.isExchangeDue(nowMs)) void this.#exchange(entry)
    else this.#readIfDue(entry, nowMs)
    if (entry.isExchanging || entry.isChanged || !entry.hasGivenBack || client.waiting.size > 0) return
    if (!entry.isIdle(nowMs) || entry.isRunning) return
    entry.isBusy = false
    this.#busy.delete(entry)
  }

  #sweep(entry: ClientEntry, nowMs: number, wallMs: number): void {
    const { client } = entry
    this.#followLimits(client, wallMs)
    if (nowMs - entry.usedAtMs < DROP_MS || entry.isReading || entry.isExchanging) return
    if (client.isIdle(nowMs)) this.#drop(client)
    else this.#readIfDue(entry, nowMs)
  }

  /** What its names run is kept: else each pause would open them again. */
  #drop({ id, models }: LimitedClient): void {
    this.clients.delete(id)
    if (models.isEmpty) return
    this.#models.delete(id)
    this.#models.set(id, models)
    if (this.#models.size <= MAX_MODELS_KEPT) return
    for (const oldest of this.#models.keys()) {
      this.#models.delete(oldest)
      return
    }
  }

  #followLimits(client: LimitedClient, wallMs: number): void {
    const limits = this.#options.limitsOf(client.id)
    if (limits !== client.limits) client.useLimits(limits)
    else client.checkClock(wallMs)
  }
}

/** Too many calls wait. */
function refuseWaiting({ rates }: CallLimits, accounts: readonly BudgetAccount[]): LimitRefusal {
  const account = accounts.find(({ waiting }) => waiting > 0) ?? accounts[0]
  if (account !== undefined) return refuseReserved(account)
  const holding = rates.find(({ waiting }) => waiting > 0) ?? rates[0]
  return holding === undefined
    ? { error: 'rate_limit_exceeded', reason: 'reserved', limitId: '', detail: {} }
    : refuseByRate(holding, 0)
}
