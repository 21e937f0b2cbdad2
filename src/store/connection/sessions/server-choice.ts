import type { ServerCandidate, ServerNeed } from './server-candidates.ts'
import type { SessionState } from './session-settings.ts'

/** After so long with a second choice, the first ones are tried again by the next connection. */
const SECOND_CHOICE_MS = 30_000

/** Which of the URL's servers the next connection goes to. It stays with one until that one fails. */
export class ServerChoice {
  readonly #candidates: readonly [ServerCandidate, ...ServerCandidate[]]
  readonly #reasons = new Map<ServerCandidate, string>()
  #current: ServerCandidate
  #chosenAtMs = 0
  #moves = 0
  #generation = 0

  /** @throws When there is no candidate. */
  constructor(candidates: readonly ServerCandidate[]) {
    const [first, ...others] = candidates
    if (first === undefined) throw new Error('a PostgreSQL URL names no server')
    this.#candidates = [first, ...others]
    this.#current = first
  }

  get size(): number {
    return this.#candidates.length
  }

  /** How often a server was given up. */
  get moves(): number {
    return this.#moves
  }

  /** Connections of an older generation may lead to a server that is no longer the right one. */
  get generation(): number {
    return this.#generation
  }

  /** The server for a new connection. */
  next(nowMs: number): ServerCandidate {
    const current = this.#current
    if (current.isSecondChoice && nowMs - this.#chosenAtMs > SECOND_CHOICE_MS) {
      this.#choose(this.#candidates[0], nowMs)
      return this.#current
    }
    return current
  }

  /** A connection to this server could not be made, or is none that will do. */
  giveUp(candidate: ServerCandidate, reason: string, nowMs: number): void {
    this.#reasons.set(candidate, reason)
    if (candidate !== this.#current) return // another connection gave it up before
    this.#moves += 1
    const index = (this.#candidates.indexOf(candidate) + 1) % this.#candidates.length
    this.#choose(this.#candidates[index] ?? candidate, nowMs)
  }

  /** The server that connections lead to cannot be written to any more: none of them is used again. */
  outdate(): void {
    this.#generation += 1
  }

  /** Why none of them can be used, without user and password. */
  describe(): string {
    const lines = this.#candidates.map((it) => `${it.name}: ${this.#reasons.get(it) ?? 'not tried'}`)
    return [...new Set(lines)].join('; ')
  }

  #choose(candidate: ServerCandidate, nowMs: number): void {
    this.#current = candidate
    this.#chosenAtMs = nowMs
  }
}

/** Why this server is not the one that is needed; `null`: it is. In libpq's meaning of `target_session_attrs`. */
export function unfitness(need: ServerNeed, { standby, readOnly }: SessionState): string | null {
  switch (need) {
    case 'any':
      return null
    case 'read-write':
      return readOnly ? 'cannot be written to' : null
    case 'read-only':
      return readOnly ? null : 'can be written to'
    case 'primary':
      return standby ? 'is a standby' : null
    case 'standby':
      return standby ? null : 'is not a standby'
  }
}
