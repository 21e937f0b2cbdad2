/** What others count on for a gateway that reports nothing. It stops to use it a little before that. */
const KEEPS_MS = 3_500
/** After this long without a report it is asked whether a gateway has ended, and after that long it may be taken so. */
export const SUSPECTED_MS = 2_400
const MISSED_MS = 4_000
/** So long it has to be missing: Postgres may have come back just now, and so would its sign. */
const CONFIRMED_MS = 1_500
/** After this long one that gives no other sign is taken as ended, though its connection is there. */
const GIVEN_UP_MS = 30_000
/** Signs are given, and the others' looked for, at most this often. */
const SPACING_MS = 1_000
const ASK_SPACING_MS = 250
/** A gateway that is suspected no more has reported. */
const SUSPECTED_FOR_MS = 2_000

interface Suspect {
  silentMs: number
  suspectedAtMs: number
  /** Since when, at each time that was asked, it gave no sign; `null`: it was not asked yet, or Postgres was away. */
  missingSinceMs: number | null
}

/** What shows that gateways run, beside what they report to Redis. */
export interface LifeSigns {
  /** This one runs, and cannot reach Redis. Rejects when that could not be said. */
  give(): Promise<void>
  /**
   * Of these, the gateways that give no such sign. `ended`: their connections are gone as well.
   * Rejects when that cannot be known.
   */
  findMissing(gatewayIds: readonly string[]): Promise<ReadonlyMap<string, 'ended' | 'silent'>>
}

/**
 * Which gateways run. A share is its gateway's own for as long as that shows that it runs, in Redis or in Postgres:
 * so being cut off from Redis neither ends a share nor has it given out twice, and kill -9 gives it back within 5 s.
 */
export class GatewayLives {
  readonly #signs: LifeSigns
  readonly #now: () => number
  readonly #onEnded: () => void
  /** Monotonic milliseconds: signs of this gateway were there from then to then, without a gap. */
  #signsFromMs = Number.POSITIVE_INFINITY
  #signsToMs = Number.NEGATIVE_INFINITY
  #gaveAtMs = Number.NEGATIVE_INFINITY
  #isGiving = false
  /** Others that report nothing. */
  readonly #suspects = new Map<string, Suspect>()
  #askedAtMs = Number.NEGATIVE_INFINITY
  #isAsking = false
  /** Those that had ended, and when they were asked for. */
  readonly #ended = new Map<string, number>()

  /** @param onEnded What such a gateway held is free. */
  constructor(signs: LifeSigns, now: () => number, onEnded: () => void) {
    this.#signs = signs
    this.#now = now
    this.#onEnded = onEnded
  }

  /** Whether what this gateway held when it reported last is its own still. */
  keeps(reportedAtMs: number, nowMs: number): boolean {
    if (nowMs < reportedAtMs + KEEPS_MS) return true
    return nowMs < this.#signsToMs && this.#signsFromMs < reportedAtMs + KEEPS_MS
  }

  /** Whether the gateway that reported last at this time has ended since. */
  hasEnded(gatewayId: string, reportedAtMs: number): boolean {
    const askedAtMs = this.#ended.get(gatewayId)
    return askedAtMs !== undefined && askedAtMs >= reportedAtMs + MISSED_MS
  }

  /** A gateway holds something and has not reported for so long, though Redis was there. */
  suspect(gatewayId: string, silentMs: number): void {
    const suspectedAtMs = this.#now()
    const known = this.#suspects.get(gatewayId)
    if (known === undefined) this.#suspects.set(gatewayId, { silentMs, suspectedAtMs, missingSinceMs: null })
    else Object.assign(known, { silentMs, suspectedAtMs })
  }

  /** Called again and again. @param isCutOff What it holds could not be reported for a while. */
  tick(isCutOff: boolean): void {
    const nowMs = this.#now()
    if (isCutOff && !this.#isGiving && nowMs - this.#gaveAtMs >= SPACING_MS) void this.#give(nowMs)
    if (this.#suspects.size > 0 && !this.#isAsking && nowMs - this.#askedAtMs >= ASK_SPACING_MS)
      void this.#ask(nowMs)
  }

  async #give(nowMs: number): Promise<void> {
    this.#isGiving = true
    this.#gaveAtMs = nowMs
    try {
      await this.#signs.give()
      const givenAtMs = this.#now()
      if (givenAtMs >= this.#signsToMs) this.#signsFromMs = givenAtMs
      this.#signsToMs = nowMs + KEEPS_MS
    } catch {
      // Postgres is away too: what is held is not this gateway's own for much longer.
    }
    this.#isGiving = false
  }

  async #ask(nowMs: number): Promise<void> {
    this.#isAsking = true
    this.#askedAtMs = nowMs
    for (const [id, { suspectedAtMs }] of this.#suspects)
      if (nowMs - suspectedAtMs > SUSPECTED_FOR_MS) this.#suspects.delete(id)
    const ids = [...this.#suspects.keys()]
    const missing = ids.length === 0 ? null : await this.#signs.findMissing(ids).catch(() => null)
    let hasEnded = false
    for (const id of ids) {
      const suspect = this.#suspects.get(id)
      const sign = missing?.get(id)
      if (suspect === undefined) continue
      if (sign === undefined) suspect.missingSinceMs = null
      else suspect.missingSinceMs ??= nowMs
      const { silentMs, missingSinceMs } = suspect
      if (missingSinceMs === null || nowMs - missingSinceMs < CONFIRMED_MS) continue
      if (sign === 'silent' && silentMs < GIVEN_UP_MS) continue
      this.#ended.set(id, nowMs)
      hasEnded = true
    }
    this.#isAsking = false
    if (hasEnded) this.#onEnded()
  }
}
