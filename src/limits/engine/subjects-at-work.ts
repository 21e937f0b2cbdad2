import type { Limit } from '../limit.ts'
import { GatewayLives } from '../sharing/gateway-lives.ts'
import { RedisPresence } from '../sharing/redis-presence.ts'
import { isReadingDue, SnapshotReader } from '../sharing/snapshot-reader.ts'
import { KEEP_VALUE_MS, SubjectExchange } from '../sharing/subject-exchange.ts'
import { holderOf, type Subject, subjectOf } from '../subject.ts'
import type { CallLimits } from './call-limits.ts'
import { CountsByClient } from './counts-by-client.ts'
import { decideWaiting } from './decide-waiting.ts'
import type { LimitEngineOptions } from './engine-options.ts'
import {
  type Coverage,
  HeldReservation,
  JointReservation,
  type ReservationKeeper,
} from './held-reservation.ts'
import { LimitedSubject } from './limited-subject.ts'
import type { CallToLimit, LimitRefusal, Reservation } from './limiter.ts'
import { KeptModels } from './models-run.ts'
import { refuseWaiting } from './refusals.ts'
import { SlowWalk } from './slow-walk.ts'
import { type CallPart, SubjectEntry, type WaitingCall } from './subject-entry.ts'

/** As many calls of a client wait at most; of one of its values, as many as others leave free. */
const MAX_WAITING = 512
/** Clients may make values up, and each at work takes 7 kB here, and a hash in Redis. */
const MAX_VALUES = 50_000
/** With more of them, values are dropped as soon as nothing is lost. */
const MANY_VALUES = 10_000
/** Subjects at work are looked at with each tick, all others this often, and so many of them a tick. */
const SWEEP_MS = 5_000
const SWEPT_AT_ONCE = 2_000
/** To report one is as much work as to look at so many: it takes memory until Redis has answered. */
const REPORT_WORK = 10
/** What is held of a subject without calls is dropped after this long, if nothing would be lost; of many values sooner. */
const DROP_MS = 60_000
const DROP_CROWDED_MS = 5_000
/** Records that are not counted are reported again in time, before Redis drops what is known of a value. */
const REMIND_MS = KEEP_VALUE_MS / 3

/** The clients that this process has something of in memory: what of them is reported, read, and waited for. */
export class SubjectsAtWork {
  readonly presence = new RedisPresence(() => this.#reportAll())
  readonly subjects = new Map<string, SubjectEntry>()
  readonly #options: LimitEngineOptions
  readonly #reader: SnapshotReader
  readonly #lives: GatewayLives
  readonly #models = new KeptModels()
  readonly #busy = new Set<SubjectEntry>()
  /** Clients of which calls that wait are to be looked at. */
  readonly #freed = new Set<SubjectEntry>()
  readonly #values = new CountsByClient()
  readonly #waiting = new CountsByClient()
  readonly #unswept = new SlowWalk<SubjectEntry>()
  readonly #unreportedRates = new SlowWalk<SubjectEntry>()
  #counter = 0
  /** Over calls that wait: none for what one value gets, of which there may be thousands. */
  #passes = 0
  /** Most gateways that a client had: taken where nothing is known of a client. */
  #fleet = 1
  #isAsking = false
  readonly #nextCounter = () => ++this.#counter
  readonly #keeper: ReservationKeeper = {
    freed: (subject) => this.#free(subject),
    grown: (subject, limits) => this.#grow(subject, limits),
    asked: (subject, cover) => this.#awaitMore(subject, cover),
  }
  readonly #serveFreed = () => {
    this.#passes += 1
    for (const entry of this.#freed) {
      this.#freed.delete(entry)
      this.#serve(entry)
      if (entry.waiting.size > 0) this.#askSoon(entry)
    }
  }

  constructor(options: LimitEngineOptions) {
    this.#options = options
    this.#reader = new SnapshotReader(options.readSpent, options.gatewayId, options.now, (entry, read) => {
      const { isAway } = this.presence
      if (read !== null) entry.subject.addSnapshot(read, isAway ? entry.exchange.knownAtMs : options.now())
      this.#reportSoon(entry)
      this.#serve(entry)
    })
    this.#lives = new GatewayLives(options.lifeSigns, options.now, () => this.#reportAll())
    const onPeers = (hadPeers: boolean) => hadPeers || this.presence.isAlone()
    // Where it is not known, there may be some.
    options.hadPeers().then(onPeers, () => {})
  }

  /** Calls that wait now. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Reports to the others what is due, reads what is due, and looks at calls that wait. */
  tick(): void {
    this.#passes += 1
    const nowMs = this.#options.now()
    const wallMs = this.#options.wallNow()
    if (this.presence.shouldAsk(nowMs)) void this.#askRedis()
    let isCutOff = false
    for (const entry of this.#busy) {
      this.#check(entry, nowMs, wallMs)
      if (entry.isCutOff(nowMs)) isCutOff = true
    }
    this.#lives.tick(isCutOff)
    this.#sweepSome(nowMs, wallMs)
  }

  /** A few thousand take some milliseconds, in which no call is answered. */
  #sweepSome(nowMs: number, wallMs: number): void {
    this.#unswept.repeat(this.subjects.values(), nowMs, SWEEP_MS)
    this.#unswept.go(SWEPT_AT_ONCE, (entry) => {
      if (!entry.isBusy) this.#sweep(entry, nowMs, wallMs)
    })
    if (this.presence.isAway) return
    this.#unreportedRates.go(SWEPT_AT_ONCE, (entry) => {
      if (entry.isBusy || entry.subject.isIdle(nowMs)) return
      this.#reportSoon(entry)
      return REPORT_WORK
    })
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
    for (const entry of this.subjects.values()) {
      entry.usedAtMs = Number.NEGATIVE_INFINITY
      if (!this.presence.isAway && (entry.isChanged || !entry.hasGivenBack))
        running.push(this.#exchange(entry))
    }
    await Promise.all(running)
  }

  ofClient(clientId: string, limits: readonly Limit[]): SubjectEntry {
    const known = this.subjects.get(clientId)
    if (known === undefined)
      return this.#open(subjectOf({ clientId, groupId: null, axis: null, value: null }), limits)
    if (known.subject.limits !== limits) known.useLimits(limits)
    return known
  }

  /**
   * @param clientId Whose call it is.
   * @returns `null`: the client has too many values at work.
   */
  of(subject: Subject, clientId: string): SubjectEntry | null {
    const known = this.subjects.get(subject.id)
    const limits = this.#options.others.limitsOf(subject)
    if (known !== undefined) {
      if (known.subject.limits !== limits) known.useLimits(limits)
      return known
    }
    if (subject.axis === null) return this.#open(subject, limits)
    // One client alone gets half of all, and the next client half of the rest at least.
    const most = this.#options.mostValues ?? MAX_VALUES
    if (this.#values.of(clientId) >= most - this.#values.size) return null
    this.#values.add(clientId)
    return this.#open(subject, limits, clientId)
  }

  #open(of: Subject, limits: readonly Limit[], broughtBy: string | null = null): SubjectEntry {
    const { gatewayId, producers, producerOf, store, now, wallNow } = this.#options
    const models = this.#models.take(holderOf(of))
    const lives = this.#lives
    const numbering = of.clientId === null ? producers : [producerOf(of.clientId)]
    const subject = new LimitedSubject(of, numbering, gatewayId, lives, limits, wallNow, models)
    const nextCounter = this.#nextCounter
    const { presence } = this
    const exchange = new SubjectExchange({ subject, gatewayId, store, nextCounter, presence, now, wallNow })
    const entry = new SubjectEntry(subject, exchange, lives, now(), broughtBy)
    this.subjects.set(of.id, entry)
    return entry
  }

  take(parts: readonly CallPart[], call: CallToLimit, nowMs: number): Reservation {
    const producer = this.#options.producerOf(call.clientId)
    const [first] = parts
    if (parts.length === 1 && first !== undefined) return this.#takePart(first, call, producer, nowMs)
    return new JointReservation(parts.map((part) => this.#takePart(part, call, producer, nowMs)))
  }

  #takePart(part: CallPart, call: CallToLimit, producer: string, nowMs: number): HeldReservation {
    const { entry, limits, accounts } = part
    const { now } = this.#options
    const { subject } = entry
    const held = new HeldReservation(subject, limits, accounts, call, producer, nowMs, now, this.#keeper)
    this.#changed(entry)
    if (!entry.isAsking && !this.presence.isAway && entry.isLow(limits, nowMs)) this.#askSoon(entry)
    return held
  }

  admitLater(waiting: WaitingCall): Reservation | LimitRefusal | Promise<Reservation | LimitRefusal | null> {
    const { call, parts, sinceMs: nowMs } = waiting
    this.#follow(parts)
    const decision = decideWaiting(waiting, this.presence, nowMs, ++this.#passes)
    if (decision === 'take') return this.take(parts, call, nowMs)
    if (decision !== 'wait') return decision
    const free = MAX_WAITING - this.#waiting.of(call.clientId)
    const crowded = parts.find(({ entry }) => free <= (entry.broughtBy === null ? 0 : entry.waiting.size))
    if (crowded !== undefined) return refuseWaiting(crowded)
    this.#waiting.add(call.clientId)
    waiting.enter()
    for (const { entry } of parts) {
      this.#changed(entry)
      this.#askSoon(entry)
    }
    return waiting.answer.promise
  }

  #follow(parts: readonly CallPart[]): void {
    for (const { entry } of parts) entry.follow(this.presence, this.#fleet)
  }

  /** Looks at the calls that wait, in their order. */
  #serve(entry: SubjectEntry): void {
    entry.follow(this.presence, this.#fleet)
    entry.answerGrowing(this.presence, this.#options.now())
    for (const waiting of entry.waiting) this.#answer(waiting, entry)
  }

  #answer(waiting: WaitingCall, served: SubjectEntry): void {
    const nowMs = this.#options.now()
    const { parts } = waiting
    if (parts.length > 1) this.#follow(parts)
    const decision = decideWaiting(waiting, this.presence, nowMs, this.#passes)
    if (decision === 'wait') {
      const next = waiting.nextToAsk(nowMs)
      if (next !== null) this.#askSoon(next)
      return
    }
    waiting.leave()
    this.#waiting.drop(waiting.call.clientId)
    waiting.answer.resolve(decision === 'take' ? this.take(parts, waiting.call, nowMs) : decision)
    // Others may have waited behind it.
    for (const { entry } of parts) if (entry !== served && entry.waiting.size > 0) this.#serveSoon(entry)
  }

  /** A call that runs needs more than it had: more is asked for at once, as it cannot wait for that. */
  #grow(subject: LimitedSubject, limits: CallLimits): boolean {
    const entry = this.subjects.get(subject.id)
    if (entry?.subject !== subject) return true
    const nowMs = this.#options.now()
    this.#changed(entry)
    if (entry.isLow(limits, nowMs)) this.#askSoon(entry)
    // A process that stood still is not cut off: Redis answers it in a moment.
    const { presence } = this
    return !presence.isAway || limits.sharesAlone || entry.hasMoney(false, presence, nowMs)
  }

  async #awaitMore(subject: LimitedSubject, cover: () => Coverage): Promise<boolean> {
    const entry = this.subjects.get(subject.id)
    if (entry?.subject !== subject) return false
    this.#askSoon(entry)
    return await entry.mayGrow(cover, this.#options.now())
  }

  #free(subject: LimitedSubject): void {
    const entry = this.subjects.get(subject.id)
    if (entry?.subject !== subject) return
    this.#changed(entry)
    // Now, and so before the end of the answer: its client may kill this process as soon as it has that.
    if (!this.presence.isAway && subject.owesReport) void this.#exchange(entry)
    if (entry.waiting.size > 0) this.#serveSoon(entry)
  }

  #serveSoon(entry: SubjectEntry): void {
    if (this.#freed.size === 0) this.#options.defer(this.#serveFreed)
    this.#freed.add(entry)
  }

  #changed(entry: SubjectEntry): void {
    entry.isChanged = true
    if (entry.isBusy) return
    entry.isBusy = true
    this.#busy.add(entry)
  }

  #askSoon(entry: SubjectEntry): void {
    if (entry.isAsking || this.presence.isAway) return
    entry.isAsking = true
    this.#options.defer(() => {
      entry.isAsking = false
      void this.#exchange(entry)
    })
  }

  async #exchange(entry: SubjectEntry): Promise<void> {
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
      await entry.exchange.run(isIdle, entry.waiting)
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
    if (entry.broughtBy === null) this.#passes += 1
    this.#serve(entry)
    this.#readIfDue(entry, now())
    if (entry.isBehind) this.#askSoon(entry)
  }

  #readIfDue(entry: SubjectEntry, nowMs: number): void {
    if (isReadingDue(entry, this.#options.gatewayId, nowMs)) this.#reader.request(entry)
  }

  /** A reading is of use once the others have answered it, and calls may wait for it. */
  #reportSoon(entry: SubjectEntry): void {
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
      presence.keeps(beganMs, ageMs, askedAtMs, now())
      if (wasAway) this.#reportAll()
    } catch {
      presence.failed()
    }
    this.#isAsking = false
  }

  /** Redis may lack what this gateway has reported: of money all at once, of what quiet subjects used some by some. */
  #reportAll(): void {
    for (const entry of this.subjects.values())
      if (entry.isBusy || entry.subject.hasUncounted) this.#reportSoon(entry)
    this.#unreportedRates.begin(this.subjects.values(), this.#options.now())
  }

  #check(entry: SubjectEntry, nowMs: number, wallMs: number): void {
    const { subject } = entry
    this.#followLimits(entry, wallMs)
    if (!entry.isIdle(nowMs)) subject.openAccounts(wallMs)
    this.#serve(entry)
    if (this.presence.isAway) this.#readIfDue(entry, nowMs)
    else if (entry.isExchangeDue(nowMs)) void this.#exchange(entry)
    else this.#readIfDue(entry, nowMs)
    if (entry.isExchanging || entry.isChanged || !entry.hasGivenBack || entry.waiting.size > 0) return
    if (!entry.isIdle(nowMs) || entry.isRunning) return
    entry.isBusy = false
    this.#busy.delete(entry)
  }

  #sweep(entry: SubjectEntry, nowMs: number, wallMs: number): void {
    const { subject } = entry
    this.#followLimits(entry, wallMs)
    const isValue = entry.broughtBy !== null
    if (isValue && subject.hasUncounted && nowMs - entry.exchangedAtMs > REMIND_MS) this.#reportSoon(entry)
    const keptMs = isValue && this.#values.size > MANY_VALUES ? DROP_CROWDED_MS : DROP_MS
    if (nowMs - entry.usedAtMs < keptMs || entry.isReading || entry.isExchanging) return
    if (entry.waiting.size === 0 && subject.isIdle(nowMs)) this.#drop(entry)
    else this.#readIfDue(entry, nowMs)
  }

  #drop({ subject: { id, subject }, broughtBy }: SubjectEntry): void {
    this.subjects.delete(id)
    this.#models.giveBack(holderOf(subject))
    if (broughtBy !== null) this.#values.drop(broughtBy)
  }

  #followLimits(entry: SubjectEntry, wallMs: number): void {
    const { subject } = entry
    const { limitsOf, others } = this.#options
    const { clientId, axis } = subject.subject
    const limits = clientId !== null && axis === null ? limitsOf(clientId) : others.limitsOf(subject.subject)
    if (limits !== subject.limits) entry.useLimits(limits)
    else subject.checkClock(wallMs)
  }
}
