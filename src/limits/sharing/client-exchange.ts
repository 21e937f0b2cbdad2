import type { LimitedClient } from '../engine/limited-client.ts'
import { type AccountShare, NONE_COUNTED, type RateShare, serialiseField } from './gateway-field.ts'
import { gatewayFieldName, SNAPSHOTS_FIELD, TOKEN_FIELD } from './known-gateways.ts'
import type { ExchangeReply, ExchangeRequest, LimitStore } from './limit-store.ts'
import { planShares, type SharePlan } from './plan-shares.ts'
import type { RedisPresence } from './redis-presence.ts'
import { parseSnapshots, serialiseSnapshots } from './spent-snapshots.ts'

/** Others write at the same time seldom, and never so often in a row. */
const MAX_ATTEMPTS = 10

export interface ClientExchangeOptions {
  readonly client: LimitedClient
  readonly gatewayId: string
  readonly store: LimitStore
  /** Rises with every use, over all clients and over the life of this process. */
  readonly nextCounter: () => number
  readonly presence: RedisPresence
  /** Monotonic milliseconds, and milliseconds since 1970. */
  readonly now: () => number
  readonly wallNow: () => number
}

/** What one client's gateways report to each other: this one's part of it. */
export class ClientExchange {
  readonly #options: ClientExchangeOptions
  /** As last known: the token of the hash, and what it has of readings of Postgres. */
  #token = ''
  #snapshotsText = ''
  /** Redis's clock less the monotonic one, in milliseconds. */
  #redisOffsetMs = 0
  /** Monotonic milliseconds: since when, at least, what is known of the others is so. */
  knownAtMs = Number.NEGATIVE_INFINITY
  /** Since when Redis has answered each time, and has not dropped this client's hash. */
  #answersSinceMs = Number.NEGATIVE_INFINITY
  #hasFailed = false
  /** Whether all that others hold was known at the last exchange. */
  isSettled = false
  /** When what this gateway holds was reported last. */
  reportedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ClientExchangeOptions) {
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
  async run(isIdle: boolean): Promise<void> {
    const { client, store, presence, now } = this.#options
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const sentAtMs = now()
      client.updateViews(sentAtMs)
      // Where there is nothing, others may have written what Redis has lost since.
      const isBlank = this.#token === ''
      const isSettled = !isBlank && presence.isSettled(this.#answersSinceMs, sentAtMs)
      const plan = planShares(client, sentAtMs, isIdle, isSettled)
      const request = this.#request(plan, sentAtMs)
      lower(plan)
      const [reply, kept] = await Promise.all([
        store.exchange(request),
        isBlank ? store.keptSince() : null,
      ]).catch((error: unknown) => {
        keepLower(plan)
        this.#hasFailed = true
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
        client.gateways.suspectSilent(Math.max(presence.wholeSinceMs, this.#answersSinceMs), now())
        if (!isBlank || client.waiting.size === 0) return
        continue
      }
      restore(plan)
      this.#learn(reply)
    }
  }

  #request(plan: SharePlan, nowMs: number): ExchangeRequest {
    const { client, gatewayId, nextCounter } = this.#options
    const counter = nextCounter()
    const field = serialiseField({
      counter,
      producer: client.producer,
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
    const snapshots = serialiseSnapshots(client.snapshots)
    if (snapshots !== this.#snapshotsText && client.snapshots.length > 0)
      writes.push(SNAPSHOTS_FIELD, snapshots)
    writes.push(...client.gateways.writes(this.redisNowMs, nowMs))
    return { clientId: client.id, token: this.#token, newToken: `${gatewayId}${counter}`, gatewayId, writes }
  }

  #taken({ newToken, writes }: ExchangeRequest, plan: SharePlan, sentAtMs: number): void {
    const { client } = this.#options
    this.#token = newToken
    if (writes[2] === SNAPSHOTS_FIELD) this.#snapshotsText = writes[3] ?? ''
    this.reportedAtMs = sentAtMs
    client.gateways.written(sentAtMs)
    for (const { holding, ceiling, lowAt } of plan.accounts) {
      holding.confirmed = ceiling
      holding.ceiling = ceiling
      holding.lowAt = lowAt
      holding.reported = holding.sent
    }
    for (const { holding, ceiling, lowAt } of plan.rates) {
      holding.confirmed = ceiling
      holding.ceiling = ceiling
      holding.lowAt = lowAt
    }
  }

  #learn({ fields, redisMs }: ExchangeReply): void {
    const { client, now } = this.#options
    const nowMs = now()
    const token = fields.get(TOKEN_FIELD) ?? ''
    // It was evicted or deleted, with what others have reported since: they report it again.
    if (token === '' && this.#token !== '') this.#answersSinceMs = nowMs
    this.#token = token
    client.gateways.learn(fields, redisMs, nowMs, client.snapshots)
    const text = fields.get(SNAPSHOTS_FIELD) ?? ''
    if (text === this.#snapshotsText) return
    this.#snapshotsText = text
    client.learnSnapshots(parseSnapshots(text), nowMs)
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
  const { key, recorded, reserved, lastSequence, counted, used, jobs } = holding
  holding.sent = recorded
  if (ceiling === 0n && used === 0n && !wants) return null
  return [
    [
      key,
      {
        recorded,
        reserved,
        ceiling,
        lastSequence,
        counted: new Map(counted),
        countedAtLeast: NONE_COUNTED,
        jobs: jobs.recorded,
        jobsCounted: new Map(jobs.counted),
        wants,
      },
    ],
  ]
}
