/** The minimum rate: an upload that brings less in 20 s, 1.6 KiB/s, is ended. */
const RATE_WINDOW_MS = 20_000
const RATE_WINDOW_BYTES = 32 * 1024
/** In bytes per millisecond, 16 KiB/s: a slower upload makes room for any faster one. */
const TRICKLE = 16
/** How often the rates are checked. */
const CHECK_MS = 5_000
/** One client may hold this part of all room. */
const CLIENT_SHARE = 3 / 8
/** One client may hold this part of the room that the others leave, so that a new client finds some. */
const LEFT_SHARE = 2 / 3

export interface BodyBudgetOptions {
  /** Monotonic milliseconds. */
  readonly now?: () => number
  /** In place of 20 s. */
  readonly rateWindowMs?: number
}

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
interface RoomOwner {
  /** Monotonic milliseconds. */
  now(): number
  /** Whether `room` may hold `bytes` more; ends other uploads for it where they have to yield. */
  take(room: BodyRoom, bytes: number): boolean
  /** The body of `room` is no longer arriving. */
  arrived(room: BodyRoom): void
  /** It arrives again. */
  arriving(room: BodyRoom): void
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

  /** More of it comes after it had {@link arrived}. */
  resume(): void {
    if (this.#isReleased) return
    this.#windowStart = this.#budget.now()
    this.#windowBytes = 0
    this.#budget.arriving(this)
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
  isTooSlow(now: number, windowMs: number): boolean {
    if (now - this.#windowStart < windowMs) return false
    const isSlow = this.#windowBytes < RATE_WINDOW_BYTES
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

/**
 * The room that request bodies have in memory, for all calls together. Only bytes that have arrived take
 * room, and the first 64 KiB of each body take none. An upload that finds no room takes that of one of these:
 *
 * - an upload that trickles
 * - a slower upload, of a client that holds more
 * - if its own client wants little: an upload of a client that holds more than an equal part
 *
 * A body that has arrived keeps its room, since its call is under way.
 */
export class BodyBudget implements RoomOwner {
  readonly #limitBytes: number
  readonly #clientLimitBytes: number
  readonly #rateWindowMs: number
  readonly #now: () => number
  readonly #heldBy = new Map<string, number>()
  /** The uploads that are still arriving. */
  readonly #uploads = new Set<BodyRoom>()
  #heldBytes = 0
  #checkTimer: NodeJS.Timeout | null = null

  /** @param maxBodyBytes the largest body, which finds room whenever no other body holds any. */
  constructor(limitBytes: number, maxBodyBytes: number, options: BodyBudgetOptions = {}) {
    this.#limitBytes = Math.max(limitBytes, maxBodyBytes)
    this.#clientLimitBytes = Math.max(limitBytes * CLIENT_SHARE, maxBodyBytes)
    this.#rateWindowMs = options.rateWindowMs ?? RATE_WINDOW_MS
    this.#now = options.now ?? (() => performance.now())
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Opens the room of one upload. `end` is called when the upload has to end; then its room is free. */
  open(clientId: string, end: (problem: UploadProblem) => void): BodyRoom {
    const room = new BodyRoom(this, clientId, end, this.#now())
    this.arriving(room)
    return room
  }

  /** For {@link BodyRoom}. */
  arriving(room: BodyRoom): void {
    this.#uploads.add(room)
    this.#checkTimer ??= setInterval(
      () => setImmediate(() => this.endSlow()),
      Math.min(CHECK_MS, this.#rateWindowMs / 4),
    ).unref()
  }

  /**
   * Ends the uploads that are below the minimum rate. It has a turn of its own, so that bytes which have come
   * in the meantime were read before.
   */
  endSlow(): void {
    const now = this.#now()
    for (const room of this.#uploads) {
      if (room.isTooSlow(now, this.#rateWindowMs)) room.end('slow')
    }
    if (this.#uploads.size > 0 || this.#checkTimer === null) return
    clearInterval(this.#checkTimer)
    this.#checkTimer = null
  }

  /** For {@link BodyRoom}. */
  take(room: BodyRoom, bytes: number): boolean {
    const wanted = this.#heldOf(room.clientId) + bytes
    if (wanted > this.#clientLimitBytes) return false
    while (wanted > this.#shareOf(room.clientId)) {
      const slowest = this.#slowestToYield(room, wanted)
      if (slowest === null) return false
      slowest.end('busy')
    }
    this.#heldBytes += bytes
    this.#heldBy.set(room.clientId, this.#heldOf(room.clientId) + bytes)
    return true
  }

  /** For {@link BodyRoom}. */
  arrived(room: BodyRoom): void {
    this.#uploads.delete(room)
  }

  /** For {@link BodyRoom}. */
  give(clientId: string, bytes: number): void {
    if (bytes === 0) return
    this.#heldBytes -= bytes
    const held = this.#heldOf(clientId) - bytes
    if (held > 0) this.#heldBy.set(clientId, held)
    else this.#heldBy.delete(clientId)
  }

  now(): number {
    return this.#now()
  }

  #heldOf(clientId: string): number {
    return this.#heldBy.get(clientId) ?? 0
  }

  /** The bytes that other clients leave to this one. */
  #shareOf(clientId: string): number {
    const left = this.#limitBytes - (this.#heldBytes - this.#heldOf(clientId))
    return left === this.#limitBytes ? left : left * LEFT_SHARE
  }

  /** The slowest of the uploads that have to make room for one of a client that would hold `wanted` bytes. */
  #slowestToYield(room: BodyRoom, wanted: number): BodyRoom | null {
    const now = this.#now()
    const yieldingSpeed = room.speed(now) / 2
    const equalPart = this.#limitBytes / (this.#heldBy.size + 1)
    let slowest: BodyRoom | null = null
    let slowestSpeed = Number.POSITIVE_INFINITY
    for (const other of this.#uploads) {
      if (other.heldBytes === 0 || other.clientId === room.clientId) continue
      const speed = other.speed(now)
      if (speed >= slowestSpeed) continue
      const held = this.#heldOf(other.clientId)
      const isSlower = speed < yieldingSpeed && (held > wanted || speed < TRICKLE)
      const isGreedier = held > equalPart && wanted <= equalPart / 2
      if (!isSlower && !isGreedier) continue
      slowest = other
      slowestSpeed = speed
    }
    return slowest
  }
}
