/** The driver's pool says the same, so that callers need not tell the two apart. */
const NO_CONNECTION = 'timeout exceeded when trying to connect'

interface Waiting {
  readonly grant: () => void
}

/**
 * The lanes that connections are taken for, the most urgent first. Polls: keys, committed offsets, prices,
 * announcements. Limits: definitions and spent figures. Objects: owners that a call waits for. Usage: clients' queries.
 * Reports: operators'.
 */
export const LANES = ['polls', 'limits', 'objects', 'usage', 'reports'] as const
export type LaneName = (typeof LANES)[number]

/** With fewer, slow queries of clients would keep a call's objects waiting, or those of operators all clients'. */
export const LEAST_CONNECTIONS = 4
/** Connections of one gateway process, whatever it is asked. */
export const MOST_CONNECTIONS = 8

/**
 * How many of `total` connections each lane may hold together with all that are less urgent. So each of the first three
 * finds a connection however many slow queries run: no report keeps a poll, or a figure of limits, waiting.
 */
export function laneCaps(total: number): readonly number[] {
  const objects = Math.max(1, total - 2)
  const usage = total < 2 ? 0 : total < 5 ? Math.max(1, total - 2) : Math.min(4, total - 3)
  const reports = total < 2 ? 0 : total < 6 ? 1 : 2
  return [total, Math.max(1, total - 1), objects, usage, reports]
}

/**
 * Deals out a process's connections: the most urgent lane that waits is next, in the order of asking within a lane.
 * What each lane may hold is bounded by `laneCaps`. Reports that wait get one connection of clients' queries, so that
 * these never keep them out for good.
 */
export class ConnectionBudget {
  #total: number
  #caps: readonly number[]
  readonly #held: number[]
  readonly #waiting: Waiting[][]

  constructor(total: number) {
    this.#total = total
    this.#caps = laneCaps(total)
    this.#held = this.#caps.map(() => 0)
    this.#waiting = this.#caps.map(() => [])
  }

  get total(): number {
    return this.#total
  }

  /** Fewer than are held now: none is dealt out until enough came back. */
  set total(total: number) {
    this.#total = total
    this.#caps = laneCaps(total)
    this.#deal()
  }

  get held(): number {
    return this.#held.reduce((sum, count) => sum + count, 0)
  }

  /**
   * Resolves once a connection may be taken, which `give` ends.
   *
   * @param lane The place in `LANES`.
   * @throws When there was none for `limitMs`.
   */
  async take(lane: number, limitMs: number): Promise<void> {
    const line = this.#waiting[lane] ?? []
    if (line.length === 0 && this.#mayTake(lane)) {
      this.#add(lane, 1)
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { grant: resolve }
    line.push(waiting)
    const timer = setTimeout(() => {
      line.splice(line.indexOf(waiting), 1)
      reject(new Error(NO_CONNECTION))
      this.#deal() // a lane that gave way to this one may go on
    }, limitMs)
    try {
      await promise
    } finally {
      clearTimeout(timer)
    }
  }

  give(lane: number): void {
    this.#add(lane, -1)
    this.#deal()
  }

  #deal(): void {
    for (const [lane, line] of this.#waiting.entries()) {
      while (line.length > 0 && this.#mayTake(lane)) {
        this.#add(lane, 1)
        line.shift()?.grant()
      }
    }
  }

  #mayTake(lane: number): boolean {
    const last = this.#held.length - 1
    const ownWait = lane === last - 1 && this.#held[last] === 0 && (this.#waiting[last]?.length ?? 0) > 0
    let held = 0
    for (let of = last; of >= 0; of -= 1) {
      held += this.#held[of] ?? 0
      // Every lane up to this one has it among its less urgent ones.
      if (of <= lane && held + 1 > (this.#caps[of] ?? 0) - (ownWait && of === lane ? 1 : 0)) return false
    }
    return true
  }

  #add(lane: number, count: number): void {
    this.#held[lane] = (this.#held[lane] ?? 0) + count
  }
}
