import { reportedFieldName, TOKEN_FIELD } from '../../../src/limits/sharing/known-gateways.ts'
import type { ExchangeReply, ExchangeRequest, KeptSince } from '../../../src/limits/sharing/limit-store.ts'
import type { GatewayInWorld, World } from './world.ts'

const ANSWER_LIMIT_MS = 2_000
const RECONNECT_MAX_MS = 1_000

/** Redis, and the ways to it. */
export class RedisInWorld {
  readonly #world: World
  /** What it has of each subject, and what each of the last writes has changed. */
  hashes = new Map<string, ReadonlyMap<string, string>>()
  /** Until when it keeps each without another write. */
  readonly #keptUntilMs = new Map<string, number>()
  #past: { readonly name: string; readonly before: ReadonlyMap<string, string> }[] = []
  awayUntilMs = 0
  /** Until then it stands still, and then does what it was asked meanwhile. */
  stalledUntilMs = 0
  /** Since when it keeps what it has, by its clock; `null`: since it is asked. */
  keptFromMs: number | null = null
  offMs = 0
  /** Of how much it is slow. */
  slowPercent = 0
  failedAtMs = Number.NEGATIVE_INFINITY
  #stalls = false

  constructor(world: World) {
    this.#world = world
  }

  /** What Redis does for a gateway, with all that can come between. Rejects as the store does. */
  ask<Answer>(gateway: GatewayInWorld, run: () => Answer): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    let hasAnswered = false
    const fail = (why: string) => {
      hasAnswered = true
      reject(new Error(why))
    }
    const isSlow = this.#world.random(100) < this.slowPercent
    const thereMs = isSlow ? this.#world.random(1_500) : this.#world.random(3)
    const backMs = isSlow ? this.#world.random(1_500) : this.#world.random(3)
    const arrive = () => {
      if (this.awayUntilMs > this.#world.nowMs || !gateway.isConnected || !gateway.canReach) {
        // A connection that is gone is noticed at once; packets that are dropped are not.
        const failsMs = gateway.canReach ? this.#world.random(20) : this.#world.random(ANSWER_LIMIT_MS)
        this.#world.at(this.#world.nowMs + failsMs, gateway, () => fail('away'))
      } else serve()
    }
    // Also what is waited for no more is done in the end.
    const serve = () => {
      if (this.stalledUntilMs > this.#world.nowMs) {
        this.#world.at(this.stalledUntilMs, null, serve)
        return
      }
      const answer = run()
      this.#world.at(this.#world.nowMs + backMs, gateway, () => {
        hasAnswered = true
        resolve(answer)
      })
    }
    this.#world.at(this.#world.nowMs + thereMs, null, arrive)
    // A connection on which the server was silent for so long is replaced.
    const expire = () => {
      reject(new Error('too slow'))
      if (!hasAnswered) this.#disconnect(gateway)
    }
    this.#world.at(this.#world.nowMs + ANSWER_LIMIT_MS, gateway, expire, true)
    return promise
  }

  /** Redis ends, or another takes over with what it had some writes ago. All connections are gone. */
  ends(awayMs: number, writesLost = 0): void {
    this.awayUntilMs = Math.max(this.awayUntilMs, this.#world.nowMs + awayMs)
    if (writesLost <= this.#past.length)
      for (const { name, before } of this.#past.splice(this.#past.length - writesLost).reverse())
        this.hashes.set(name, before)
    for (const gateway of this.#world.alive) this.#disconnect(gateway)
  }

  /** It stands still for so long, again and again. */
  stallAgainAndAgain(stalledMs: number, betweenMs: number): void {
    this.#stalls = true
    const stall = () => {
      if (!this.#stalls) return
      this.stalledUntilMs = this.#world.nowMs + stalledMs
      this.#world.at(this.stalledUntilMs + betweenMs, null, stall)
    }
    stall()
  }

  /** Nothing fails any more. */
  mend(): void {
    this.awayUntilMs = 0
    this.stalledUntilMs = 0
    this.slowPercent = 0
    this.offMs = 0
    this.#stalls = false
    for (const gateway of this.#world.alive) gateway.canReach = true
  }

  flush(): void {
    this.hashes = new Map()
    this.#past = []
    this.keptFromMs = null
  }

  /** One gateway cannot reach Redis. Redis may not notice that. */
  cutOff(gateway: GatewayInWorld | undefined, ms: number): void {
    if (gateway === undefined) return
    gateway.canReach = false
    if (this.#world.random(2) === 0) gateway.isConnected = false
    this.#world.at(this.#world.nowMs + ms, null, () => {
      gateway.canReach = true
      this.#disconnect(gateway)
    })
  }

  #disconnect(gateway: GatewayInWorld): void {
    gateway.isConnected = false
    const connect = () => {
      if (this.awayUntilMs > this.#world.nowMs || !gateway.canReach) {
        this.#world.at(this.#world.nowMs + this.#world.random(RECONNECT_MAX_MS), gateway, connect)
        return
      }
      gateway.isConnected = true
      gateway.engine.reconnected()
    }
    this.#world.at(this.#world.nowMs + this.#world.random(RECONNECT_MAX_MS), gateway, connect)
  }

  hears(gatewayId: string): boolean {
    return this.#world.alive.some((gateway) => gateway.gatewayId === gatewayId && gateway.isConnected)
  }

  keptSince(): KeptSince {
    const redisMs = Math.round(this.#world.wallMs + this.offMs)
    this.keptFromMs ??= redisMs
    return { beganMs: this.keptFromMs, ageMs: Math.max(0, redisMs - this.keptFromMs) }
  }

  script({ name, keepMs, token, newToken, gatewayId, writes }: ExchangeRequest): ExchangeReply {
    const redisMs = Math.round(this.#world.wallMs + this.offMs)
    if ((this.#keptUntilMs.get(name) ?? 0) < this.#world.nowMs) this.hashes.delete(name)
    const before: ReadonlyMap<string, string> = this.hashes.get(name) ?? new Map()
    const known = before.get(TOKEN_FIELD) ?? ''
    if (known !== token && this.#world.has('tokenIsCompared'))
      return { isTaken: false, fields: before, redisMs }
    this.#past.push({ name, before })
    if (this.#past.length > 20) this.#past.shift()
    const hash = new Map(before)
    for (let at = 0; at < writes.length; at += 2) {
      const field = writes[at] ?? ''
      const value = writes[at + 1] ?? ''
      if (value === '') hash.delete(field)
      else hash.set(field, value)
    }
    hash.set(reportedFieldName(gatewayId), `${redisMs}`)
    hash.set(TOKEN_FIELD, newToken)
    this.hashes.set(name, hash)
    this.#keptUntilMs.set(name, this.#world.nowMs + keepMs)
    return { isTaken: true, fields: new Map(), redisMs }
  }
}
