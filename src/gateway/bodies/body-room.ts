/**
 * The first bytes of a body are not counted: they are little more than what its connection and its call take
 * anyway.
 */
const FREE_BYTES = 64 * 1024
/**
 * An upload's speed counts the bytes of the last few seconds. Older bytes count for less: half every 1.4 s.
 */
const SPEED_MS = 2_000

/**
 * Why an upload ends. `busy`: too many bodies are in memory, of all clients or of this one. `slow`: it is
 * below the minimum rate.
 */
export type UploadProblem = 'busy' | 'slow'

/** Where rooms come from: `BodyBudget`. */
export interface RoomOwner {
  /** Monotonic milliseconds. */
  now(): number
  /** Whether `room` may hold `bytes` more; ends other uploads for it where they have to yield. */
  take(room: BodyRoom, bytes: number): boolean
  /** The body of `room` is no longer arriving. */
  arrived(room: BodyRoom): void
  /** The client holds `bytes` less. */
  give(clientId: string, bytes: number): void
}

/** The room that one body holds, from its first byte until its call releases it. */
export class BodyRoom {
  readonly clientId: string
  readonly #budget: RoomOwner
  readonly #end: (problem: UploadProblem) => void
  #bytes = 0
  #heldBytes = 0
  #windowStart: number
  #windowBytes = 0
  #recentBytes = 0
  #lastAt: number
  #isReleased = false

  constructor(budget: RoomOwner, clientId: string, end: (problem: UploadProblem) => void, now: number) {
    this.clientId = clientId
    this.#budget = budget
    this.#end = end
    this.#windowStart = now
    this.#lastAt = now
  }

  /** The bytes that are counted for it: all but its first 64 KiB. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Takes room for the next `bytes` of the body. False: there is none, or the room was given back. */
  grow(bytes: number): boolean {
    if (this.#isReleased) return false
    const now = this.#budget.now()
    this.#recentBytes = this.#recentAt(now) + bytes
    this.#lastAt = now
    this.#windowBytes += bytes
    this.#bytes += bytes
    const more = this.#bytes <= FREE_BYTES ? 0 : this.#bytes - this.#heldBytes
    if (more > 0 && !this.#budget.take(this, more)) return false
    this.#heldBytes += more
    return true
  }

  /** The body is whole: it keeps its room until {@link release}, and its rate is no longer checked. */
  arrived(): void {
    this.#budget.arrived(this)
  }

  /** Gives the room back. Calling this again does nothing. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#budget.arrived(this)
    this.#budget.give(this.clientId, this.#heldBytes)
    this.#heldBytes = 0
  }

  /** For `BodyBudget`. */
  end(problem: UploadProblem): void {
    this.release()
    this.#end(problem)
  }

  /** For `BodyBudget`. Begins the next window when one has passed. */
  isTooSlow(now: number, windowMs: number, windowBytes: number): boolean {
    if (now - this.#windowStart < windowMs) return false
    const isSlow = this.#windowBytes < windowBytes
    this.#windowStart = now
    this.#windowBytes = 0
    return isSlow
  }

  /** Bytes per millisecond. */
  speed(now: number): number {
    return this.#recentAt(now) / SPEED_MS
  }

  #recentAt(now: number): number {
    return this.#recentBytes * Math.exp((this.#lastAt - now) / SPEED_MS)
  }
}
