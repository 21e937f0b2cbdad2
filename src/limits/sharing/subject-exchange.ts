import type { LimitedSubject } from '../engine/limited-subject.ts'
import { sharedName } from '../subject.ts'
import { type AccountShare, NONE_COUNTED, type RateShare, serialiseField } from './gateway-field.ts'
import { gatewayFieldName, SNAPSHOTS_FIELD, TOKEN_FIELD } from './known-gateways.ts'
import type { ExchangeReply, ExchangeRequest, LimitStore } from './limit-store.ts'
import { type CallToPlan, planShares, type SharePlan } from './plan-shares.ts'
import type { RedisPresence } from './redis-presence.ts'
import { parseSnapshots, serialiseSnapshots } from './spent-snapshots.ts'

/** Others write at the same time seldom, and never so often in a row. */
const MAX_ATTEMPTS = 10
/**
 * What was used is of no interest after this long without a report: Postgres has it. Values of axes may be without end.
 * Of those of which records are not counted yet, gateways report again in time; what has nothing to tell is kept for as
 * long as gateways have it in memory.
 */
const KEEP_MS = 86_400_000
export const KEEP_VALUE_MS = 900_000
const KEEP_COUNTED_VALUE_MS = 120_000

export interface SubjectExchangeOptions {
  readonly subject: LimitedSubject
  readonly gatewayId: string
  readonly store: LimitStore
  /** Rises with every use, over all subjects and over the life of this process. */
  readonly nextCounter: () => number
  readonly presence: RedisPresence
  /** Monotonic milliseconds, and milliseconds since 1970. */
  readonly now: () => number
  readonly wallNow: () => number
}

/** What one subject's gateways report to each other: this one's part of it. */
export class SubjectExchange {
  readonly #options: SubjectExchangeOptions
  /** As last known: the token of the hash, and what it has of readings of Postgres. */
  #token = ''
  #snapshotsText = ''
  /** Redis's clock less the monotonic one, in milliseconds. */
  #redisOffsetMs = 0
  /** Monotonic milliseconds: since when, at least, what is known of the others is so. */
  knownAtMs = Number.NEGATIVE_INFINITY
  /** Since when Redis has answered each time, and has not dropped this subject's hash. */
  #answersSinceMs = Number.NEGATIVE_INFINITY
  #hasFailed = false
  /** Whether all that others hold was known at the last exchange. False where that failed. */
  isSettled = false
  /** When what this gateway holds was reported last. */
  reportedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: SubjectExchangeOptions) {
    this.#options = options
    this.#redisOffsetMs = options.wallNow() - options.now()
  }

  /** Whether Redis has answered once. */
  get isKnown(): boolean {
    return this.knownAtMs !== Number.NEGATIVE_INFINITY
  }

  get redisNowMs(): number {
    return Math.max(0, Math.round(this.#options.now() + this.#redisOffsetMs))
  }

  /**
   * Reports what this gateway uses, and takes what it may use from now on. What it may use rises only once Redis has
   * taken it, and falls as soon as it is sent: an answer may be lost.
   *
   * @throws When Redis is away.
   */
  async run(isIdle: boolean, waiting: ReadonlySet<CallToPlan>): Promise<void> {
    const { subject, store, presence, now } = this.#options
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const sentAtMs = now()
      subject.updateViews(sentAtMs)
      // Where there is nothing, others may have written what Redis has lost since.
      const isBlank = this.#token === ''
      const isSettled = !isBlank && presence.isSettled(this.#answersSinceMs, sentAtMs)
      const plan = planShares(subject, waiting, sentAtMs, isIdle, isSettled)
      const request = this.#request(plan, isIdle, sentAtMs)
      lower(plan)
      const [reply, kept] = await Promise.all([
        store.exchange(request),
        isBlank ? store.keptSince() : null,
      ]).catch((error: unknown) => {
        keepLower(plan)
        this.#hasFailed = true
        this.isSettled = false
        throw error
      })
      if (kept !== null) presence.keeps(kept.beganMs, kept.ageMs, sentAtMs, now())
      if (this.#hasFailed) this.#answersSinceMs = now()
      this.#hasFailed = false
      this.#redisOffsetMs = reply.redisMs - now()
      this.knownAtMs = sentAtMs
      if (reply.isTaken) {
        this.#taken(request, plan, sentAtMs)
        this.isSettled = isSettled
        subject.gateways.suspectSilent(Math.max(presence.wholeSinceMs, this.#answersSinceMs), now())
        if (!isBlank || waiting.size === 0) return
        continue
      }
      restore(plan)
      this.#learn(reply)
    }
  }

  #request(plan: SharePlan, isIdle: boolean, nowMs: number): ExchangeRequest {
    const { subject, gatewayId, nextCounter } = this.#options
    const counter = nextCounter()
    const field = serialiseField({
      counter,
      producers: subject.producers,
      accounts: new Map(plan.accounts.flatMap((planned) => accountShare(planned) ?? [])),
      rates: new Map(
        plan.rates.map(({ holding, ceiling, wants }): [string, RateShare] => [
          holding.limitId,
          {
            ceiling: Math.max(0, Math.floor(ceiling)),
            used: holding.window === null ? [holding.running] : holding.window.byAge(nowMs),
            pending: holding.pending(nowMs),
            wants,
          },
        ]),
      ),
    })
    const writes = [gatewayFieldName(gatewayId), field]
    const snapshots = serialiseSnapshots(subject.snapshots)
    if (snapshots !== this.#snapshotsText && subject.snapshots.length > 0)
      writes.push(SNAPSHOTS_FIELD, snapshots)
    writes.push(...subject.gateways.writes(this.redisNowMs, nowMs))
    return {
      name: sharedName(subject.subject),
      keepMs: this.#keepMs(isIdle),
      token: this.#token,
      newToken: `${gatewayId}${counter}`,
      gatewayId,
      writes,
    }
  }

  #keepMs(isIdle: boolean): number {
    const { subject } = this.#options
    if (subject.subject.axis === null) return KEEP_MS
    return isIdle && !subject.isOwed ? KEEP_COUNTED_VALUE_MS : KEEP_VALUE_MS
  }

  #taken({ newToken, writes }: ExchangeRequest, plan: SharePlan, sentAtMs: number): void {
    const { subject } = this.#options
    this.#token = newToken
    if (writes[2] === SNAPSHOTS_FIELD) this.#snapshotsText = writes[3] ?? ''
    this.reportedAtMs = sentAtMs
    subject.gateways.written(sentAtMs)
    for (const { holding, ceiling, lowAt, ofAmount } of plan.accounts)
      holding.confirm(ceiling, lowAt, ofAmount)
    for (const { holding, ceiling, lowAt } of plan.rates) holding.confirm(ceiling, lowAt)
  }

  #learn({ fields, redisMs }: ExchangeReply): void {
    const { subject, now } = this.#options
    const nowMs = now()
    const token = fields.get(TOKEN_FIELD) ?? ''
    // It was evicted or deleted, with what others have reported since: they report it again.
    if (token === '' && this.#token !== '') this.#answersSinceMs = nowMs
    this.#token = token
    subject.gateways.learn(fields, redisMs, nowMs, subject.snapshots)
    const text = fields.get(SNAPSHOTS_FIELD) ?? ''
    if (text === this.#snapshotsText) return
    this.#snapshotsText = text
    subject.learnSnapshots(parseSnapshots(text), nowMs)
  }
}

/** While the answer is awaited, the lower one of both holds. */
function lower({ accounts, rates }: SharePlan): void {
  for (const { holding, ceiling } of accounts)
    holding.ceiling = ceiling < holding.confirmed ? ceiling : holding.confirmed
  for (const { holding, ceiling } of rates) holding.ceiling = Math.min(ceiling, holding.confirmed)
}

/** Whether Redis has taken it is not known: the lower one of both holds. */
function keepLower({ accounts, rates }: SharePlan): void {
  for (const { holding, ceiling } of accounts) if (ceiling < holding.confirmed) holding.confirmed = ceiling
  for (const { holding, ceiling } of rates) holding.confirmed = Math.min(ceiling, holding.confirmed)
}

/** Redis has not taken it: what it has taken before holds. */
function restore({ accounts, rates }: SharePlan): void {
  for (const { holding } of accounts) holding.ceiling = holding.confirmed
  for (const { holding } of rates) holding.ceiling = holding.confirmed
}

function accountShare({
  holding,
  ceiling,
  wants,
}: SharePlan['accounts'][number]): [[string, AccountShare]] | null {
  const { key, recorded, reserved, lastSequences, counted, used, jobs } = holding
  holding.sent = recorded
  if (ceiling === 0n && used === 0n && !wants) return null
  return [
    [
      key,
      {
        recorded,
        reserved,
        ceiling,
        lastSequences,
        counted: new Map(counted),
        countedAtLeast: NONE_COUNTED,
        jobs: jobs.recorded,
        jobsCounted: new Map(jobs.counted),
        wants,
      },
    ],
  ]
}
