import { DeadlineError, withinDeadline } from './deadline.ts'
import type { LogEvent } from './log-events.ts'
import type { Logger } from './logger.ts'

/** An announcement may be missed: a change is known within half a second and the time that a poll takes. */
const POLL_MS = 500
/** All who ask for a refresh share one, at most twenty a second, however many ask. */
const REFRESH_SPACING_MS = 50
/** A slower server counts as unreachable: callers wait for a refresh. */
const REFRESH_DEADLINE_MS = 2_000
const SILENT = `Postgres did not answer within ${REFRESH_DEADLINE_MS} ms`

/** Which state of a table its server has. */
export interface TableState {
  /** The number of the last change. */
  readonly version: bigint
  /** When the server began, as text. Under another server, or an older state of one, a number means other changes. */
  readonly server: string
}

export interface WatchedTableOptions<State extends TableState, Changes> {
  readonly readState: () => Promise<State>
  /** The rows that changed after a version; `null`: so much that all is to be read. */
  readonly readChanges: (version: bigint) => Promise<Changes | null>
  /** All rows, in pages. */
  readonly readAll: () => AsyncIterator<Changes>
  /** The rows in memory. A reading of all rows removes what none of its updates had. */
  readonly memory: {
    beginReading(): void
    update(changes: Changes): void
    endReading(): void
  }
  /** Calls its argument after an announcement, and when one may have been missed; `null`: polling only. */
  readonly listen: ((onAnnounced: () => void) => { close(): void }) | null
  /** Monotonic milliseconds; absent: the process's. */
  readonly now?: () => number
  /** Learns of each state, and of when it was asked for. */
  readonly onState?: (state: State, askedAtMs: number) => void
  readonly onPolled?: () => void
  /** After each failure, once `staleMs` is that of now. */
  readonly onFailed?: () => void
  readonly onAnswered?: () => void
  readonly unreadable: LogLine
  readonly readAgain: LogLine
  readonly log: Logger
}

interface LogLine {
  readonly event: LogEvent
  readonly message: string
}

/**
 * Shares one refresh among concurrent callers: at most one runs, and two never begin within `spacingMs`. A
 * caller gets the result of a refresh that began after its call, and so sees everything before it.
 */
export class SharedRefresh<Result> {
  readonly #run: () => Promise<Result>
  readonly #spacingMs: number
  /** The refresh that has not begun yet. */
  #next: PromiseWithResolvers<Result> | null = null
  #running: Promise<void> | null = null
  #startedAtMs = Number.NEGATIVE_INFINITY

  /** `run` must not reject. */
  constructor(run: () => Promise<Result>, spacingMs: number) {
    this.#run = run
    this.#spacingMs = spacingMs
  }

  request(): Promise<Result> {
    if (this.#next === null) {
      this.#next = Promise.withResolvers<Result>()
      if (this.#running === null) this.#schedule()
    }
    return this.#next.promise
  }

  /** Resolves when the refresh under way, if any, has ended. */
  async settled(): Promise<void> {
    await this.#running
  }

  #schedule(): void {
    const waitMs = this.#startedAtMs + this.#spacingMs - performance.now()
    setTimeout(
      () => {
        // A timer counts from the beginning of the event loop's turn, so it fires early after a long turn.
        if (performance.now() < this.#startedAtMs + this.#spacingMs) this.#schedule()
        else this.#running = this.#begin()
      },
      Math.max(0, Math.ceil(waitMs)),
    )
  }

  async #begin(): Promise<void> {
    const waiting = this.#next
    this.#next = null
    this.#startedAtMs = performance.now()
    const result = await this.#run()
    this.#running = null
    waiting?.resolve(result)
    if (this.#next !== null) this.#schedule()
  }
}

/** Keeps a copy of a table in memory that follows its changes. Without Postgres it keeps trying. */
export class WatchedTable<State extends TableState, Changes> {
  readonly #options: WatchedTableOptions<State, Changes>
  readonly #announcements: { close(): void } | null
  readonly #refresh = new SharedRefresh(() => this.#read(), REFRESH_SPACING_MS)
  readonly #firstRead = Promise.withResolvers<void>()
  /** The state that was read last; `null`: nothing yet. */
  #state: State | null = null
  /** `null`: never yet. Monotonic milliseconds. */
  #answeredAtMs: number | null = null
  #isReachable: boolean | null = null
  /** Statements that timed out here and still run. More of them would only fill the pool. */
  #hanging = 0
  #pollTimer: NodeJS.Timeout | undefined
  #isClosed = false

  /** Begins to poll. */
  constructor(options: WatchedTableOptions<State, Changes>) {
    this.#options = options
    this.#announcements = options.listen?.(() => void this.refresh()) ?? null
    this.#poll()
  }

  /** Tells whether all rows were read at least once. */
  get ready(): boolean {
    return this.#answeredAtMs !== null
  }

  /** Resolves when they were read for the first time. */
  whenReady(): Promise<void> {
    return this.#firstRead.promise
  }

  /** Tells whether Postgres answered the last poll; `null`: none has ended yet. */
  get isReachable(): boolean | null {
    return this.#isReachable
  }

  /** Milliseconds since the last successful poll; `null`: none yet. */
  get staleMs(): number | null {
    return this.#answeredAtMs === null ? null : performance.now() - this.#answeredAtMs
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Reads what changed before this call. Gives whether Postgres answered. */
  refresh(): Promise<boolean> {
    return this.#refresh.request()
  }

  /** Resolves when the refresh under way, if any, has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#pollTimer)
    this.#announcements?.close()
    await this.#refresh.settled()
  }

  #poll(): void {
    void this.refresh().then(() => {
      if (this.#isClosed) return
      this.#options.onPolled?.()
      this.#pollTimer = setTimeout(() => this.#poll(), POLL_MS)
    })
  }

  async #read(): Promise<boolean> {
    if (this.#isClosed) return false
    const { log, unreadable, readAgain, onFailed, onAnswered } = this.#options
    try {
      if (this.#hanging > 0) throw new Error('Postgres has not answered for a while')
      await this.#readChanges()
    } catch (error) {
      if (this.#isReachable !== false) log.warn({ event: unreadable.event, err: error }, unreadable.message)
      this.#isReachable = false
      onFailed?.()
      return false
    }
    if (this.#isReachable === false) log.info({ event: readAgain.event }, readAgain.message)
    this.#isReachable = true
    this.#answeredAtMs = performance.now()
    onAnswered?.()
    this.#firstRead.resolve()
    return true
  }

  /**
   * Reads what changed since the last reading. A server that began later may have lost changes that were read before,
   * so from it everything is read again. A failure alone means no other state: it does not cost a reading of all rows.
   */
  async #readChanges(): Promise<void> {
    const { readState, readChanges, memory, onState, now = () => performance.now() } = this.#options
    const known = this.#state
    const askedAtMs = now()
    const state = await this.#withinDeadline(readState())
    onState?.(state, askedAtMs)
    const isSameServer = known !== null && state.server === known.server && state.version >= known.version
    if (isSameServer && state.version === known.version) return
    const changes = isSameServer ? await this.#withinDeadline(readChanges(known.version)) : null
    if (changes === null) await this.#readAll()
    else memory.update(changes)
    this.#state = state // read first: what changed meanwhile has a higher number and is read again
  }

  async #readAll(): Promise<void> {
    const { readAll, memory } = this.#options
    memory.beginReading()
    const pages = readAll()
    for (;;) {
      const page = await this.#withinDeadline(pages.next())
      if (page.done === true) break
      memory.update(page.value)
    }
    memory.endReading()
  }

  /** Counts answers that did not come in time, until they come after all: no further query is sent meanwhile. */
  async #withinDeadline<T>(answer: Promise<T>): Promise<T> {
    try {
      return await withinDeadline(answer, REFRESH_DEADLINE_MS, SILENT)
    } catch (error) {
      if (error instanceof DeadlineError) {
        this.#hanging += 1
        const ended = () => {
          this.#hanging -= 1
        }
        answer.then(ended, ended)
      }
      throw error
    }
  }
}
