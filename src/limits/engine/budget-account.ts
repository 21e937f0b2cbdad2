import type { UtcDay } from '../../domain/utc-day.ts'
import type { Limit, PeriodDays } from '../limit.ts'
import { evenShare } from '../sharing/share-sizes.ts'
import { WaitingLine } from './waiting-line.ts'

/** What is known of a budget's spending beside this gateway's own. */
export interface SpentView {
  /** Which reading of Postgres it is based on; empty: on none, since the period has just begun. */
  readonly snapshotId: string
  /** What Postgres had, and what the others recorded since: costs, and what waiting jobs reserve. */
  readonly base: bigint
  /** Of that, what waiting jobs reserve. */
  readonly jobs: bigint
  /** False: `base` is more than is spent, perhaps, as a gateway has not answered yet what of it the reading has. */
  readonly isExact: boolean
  /** What the others may still spend without asking: what their running calls reserve, and more. */
  readonly othersHeld: bigint
  /** Of that, what running calls reserve. */
  readonly othersReserved: bigint
  /** One of the others has a call that waits, and no more may be held in reserve. */
  readonly wants: boolean
  /** How many others report still. */
  readonly gateways: number
}

/** A record of a call: who has numbered it, and its number. */
export interface RecordName {
  readonly producer: string
  readonly sequence: number
}

/** Of a reading of Postgres: its id, and the last record of each producer that is in it. */
export interface CountedReading {
  readonly id: string
  readonly offsets: ReadonlyMap<string, number>
}

/** Emptied places are cut off the list once they are so many, and half of it. */
const COMPACT_FROM = 256

/**
 * What this gateway's records cost, by their sequence numbers, as far as Postgres may not have counted them. So what
 * was counted at any committed offset is known exactly.
 */
export class RecordedCosts {
  #sequences: number[] = []
  #amounts: bigint[] = []
  #head = 0
  /** Up to here records were dropped, and cost `#dropped` together. */
  #droppedTo = 0
  #dropped = 0n

  get size(): number {
    return this.#sequences.length - this.#head
  }

  add(sequence: number, pico: bigint): void {
    if (sequence <= this.#droppedTo) {
      this.#dropped += pico
      return
    }
    let at = this.#sequences.length
    // Records come in their order, but for those that waited for something.
    while (at > this.#head && (this.#sequences[at - 1] ?? 0) > sequence) at -= 1
    if (at === this.#sequences.length) {
      this.#sequences.push(sequence)
      this.#amounts.push(pico)
      return
    }
    this.#sequences.splice(at, 0, sequence)
    this.#amounts.splice(at, 0, pico)
  }

  /** What the records up to and with this one cost; `null`: single ones were dropped beyond it. */
  upTo(offset: number): bigint | null {
    if (offset < this.#droppedTo) return null
    let sum = this.#dropped
    for (let at = this.#head; at < this.#sequences.length; at += 1) {
      if ((this.#sequences[at] ?? 0) > offset) break
      sum += this.#amounts[at] ?? 0n
    }
    return sum
  }

  /** Sums up the records up to and with this one: no earlier offset is asked for any more. */
  drop(offset: number): void {
    if (offset <= this.#droppedTo) return
    this.#droppedTo = offset
    let first = this.#sequences[this.#head]
    while (first !== undefined && first <= offset) {
      this.#dropped += this.#amounts[this.#head] ?? 0n
      this.#head += 1
      first = this.#sequences[this.#head]
    }
    if (this.#head < COMPACT_FROM || this.#head * 2 < this.#sequences.length) return
    this.#sequences = this.#sequences.slice(this.#head)
    this.#amounts = this.#amounts.slice(this.#head)
    this.#head = 0
  }
}

/** The same of all producers that number them: those of a group's clients may be several. */
export class CostsByProducer {
  readonly #of = new Map<string, RecordedCosts>()

  get size(): number {
    let size = 0
    for (const costs of this.#of.values()) size += costs.size
    return size
  }

  add(producer: string, sequence: number, pico: bigint): void {
    const costs = this.#of.get(producer) ?? new RecordedCosts()
    this.#of.set(producer, costs)
    costs.add(sequence, pico)
  }

  /** What the records up to and with these cost; `null`: of a producer that is not known, or single ones were dropped. */
  upTo(offsets: ReadonlyMap<string, number>): bigint | null {
    let sum = 0n
    for (const [producer, costs] of this.#of) {
      const offset = offsets.get(producer)
      const counted = offset === undefined ? null : costs.upTo(offset)
      if (counted === null) return null
      sum += counted
    }
    return sum
  }

  drop(offsets: ReadonlyMap<string, number>): void {
    for (const [producer, costs] of this.#of) {
      const offset = offsets.get(producer)
      if (offset !== undefined) costs.drop(offset)
    }
  }
}

/**
 * What jobs reserve that were submitted through this gateway: a part of an account's records. Like a cost it counts
 * from the job's record on, until a reading of Postgres has it.
 */
class RecordedJobs {
  /** Since the account began: pico-USD. */
  recorded = 0n
  readonly costs = new CostsByProducer()
  /** What of `recorded` is in readings of Postgres, by their ids; none where an id is absent. */
  readonly counted = new Map<string, bigint>()

  /** A record was written. */
  record(pico: bigint, { producer, sequence }: RecordName, readings: readonly CountedReading[]): void {
    this.recorded += pico
    this.costs.add(producer, sequence, pico)
    for (const { id, offsets } of readings)
      if (sequence <= (offsets.get(producer) ?? 0)) this.counted.set(id, (this.counted.get(id) ?? 0n) + pico)
  }

  /** Works out what of `recorded` is in a reading that has counted the records up to these. */
  answer(snapshotId: string, offsets: ReadonlyMap<string, number>): void {
    const counted = this.costs.upTo(offsets)
    if (counted !== null && counted > 0n) this.counted.set(snapshotId, counted)
  }

  /** What of `recorded` is not in this reading. */
  since(snapshotId: string): bigint {
    return this.recorded - (this.counted.get(snapshotId) ?? 0n)
  }
}

/** One period of a budget, as this gateway holds it. All amounts are integer pico-USD. */
export class BudgetAccount {
  /** Names it in the client's shared state. */
  readonly key: string
  readonly limitId: string
  limit: Limit
  readonly fromDay: UtcDay
  readonly toDay: UtcDay | null
  /** Milliseconds since 1970; without an end for a budget of all time, and long begun. */
  readonly beganAtMs: number
  readonly endsAtMs: number
  /** Whether this process has heard of the period since it began. Others may have dropped what was counted before that. */
  readonly isKnownFromStart: boolean
  /** The limit, as of the last check of the clock: it may be raised for a while. */
  amount: bigint
  /** What was recorded here since this account began: costs, and what jobs reserve. */
  recorded = 0n
  /** Of that, what the last exchange has said, and what Redis has confirmed. */
  sent = 0n
  reported = 0n
  /** What running calls here may cost. */
  reserved = 0n
  /** `recorded + reserved`. */
  used = 0n
  /** What running sessions have cost so far: a part of `reserved`. */
  progressed = 0n
  /** This gateway may use so much without asking: what Redis has confirmed, and what holds meanwhile. */
  confirmed = 0n
  ceiling = 0n
  /** Above this more is asked for, before it is needed. */
  lowAt = 0n
  /** The last record's sequence number, by its producer. */
  readonly lastSequences = new Map<string, number>()
  readonly costs = new CostsByProducer()
  /** What of `recorded` is in readings of Postgres, by their ids. */
  readonly counted = new Map<string, bigint>()
  /** Of `recorded`, what jobs reserve. */
  readonly jobs = new RecordedJobs()
  readonly waiting = new WaitingLine()
  /** `null`: nothing was ever known. */
  view: SpentView | null = null
  /** Nothing can be known, and the budget says that a gateway goes on alone: calls pass and are counted. */
  isOpen = false
  /** Where the budget says so, this gateway may use so much while Redis is away. Worked out of what it knew when. */
  share = 0n
  #sharedOfMs = Number.NaN
  #sharedOfAmount = 0n

  constructor(limit: Limit, { fromDay, toDay }: PeriodDays, amount: bigint, openedAtMs: number) {
    this.key = accountKey(limit.id, fromDay)
    this.limitId = limit.id
    this.limit = limit
    this.fromDay = fromDay
    this.toDay = toDay
    this.beganAtMs = toDay === null ? Number.NEGATIVE_INFINITY : Date.parse(`${fromDay}T00:00:00Z`)
    this.endsAtMs = toDay === null ? Number.POSITIVE_INFINITY : Date.parse(`${toDay}T00:00:00Z`) + 86_400_000
    this.isKnownFromStart = openedAtMs < this.beganAtMs
    this.amount = amount
  }

  /** What all gateways have spent, neither running calls nor waiting jobs included; `null`: not known. */
  get spent(): bigint | null {
    return this.charged === null ? null : this.charged - this.jobsReserved
  }

  /** What is spent, and what waiting jobs reserve, which is as little free for other calls; `null`: not known. */
  get charged(): bigint | null {
    const { view } = this
    if (view === null) return null
    return view.base + this.recorded - (this.counted.get(view.snapshotId) ?? 0n)
  }

  /** What jobs reserve of all gateways whose cost is not known yet. */
  get jobsReserved(): bigint {
    return this.view === null ? 0n : this.view.jobs + this.jobs.since(this.view.snapshotId)
  }

  /** Brings in the limit of now. Of one that was lowered less is held at once, also while Redis is away. */
  setAmount(pico: bigint): void {
    const less = pico < this.amount ? this.amount - pico : 0n
    this.amount = pico
    this.ceiling = lessOf(this.ceiling, less)
    this.confirmed = lessOf(this.confirmed, less)
  }

  /** Redis has taken it. @param ofAmount The amount that it was planned of, which may have been lowered since. */
  confirm(ceiling: bigint, lowAt: bigint, ofAmount: bigint): void {
    this.confirmed = ofAmount > this.amount ? lessOf(ceiling, ofAmount - this.amount) : ceiling
    this.ceiling = this.confirmed
    this.lowAt = lowAt
    this.reported = this.sent
  }

  /**
   * Works out what this gateway takes while Redis is away, where the budget says so: its even part of what was left,
   * once until an exchange with Redis has renewed what is known.
   *
   * @param knownAtMs Monotonic milliseconds: since when the others are known as they are.
   * @returns Whether the share is another one now.
   */
  takeShare(knownAtMs: number, gateways: number): boolean {
    const { charged, view } = this
    if (charged === null || view === null) return false
    if (this.#sharedOfMs === knownAtMs) return this.#followAmount(gateways)
    this.#sharedOfMs = knownAtMs
    this.#sharedOfAmount = this.amount
    // What running calls hold anywhere is not left: they may all cost it.
    this.share = this.used + evenShare(this.amount - charged - this.reserved - view.othersReserved, gateways)
    return true
  }

  /** The limit was raised or lowered meanwhile. */
  #followAmount(gateways: number): boolean {
    const more = this.amount - this.#sharedOfAmount
    if (more === 0n) return false
    this.#sharedOfAmount = this.amount
    this.share += more > 0n ? evenShare(more, gateways) : more
    return true
  }

  /** Whether a share for the time without Redis was worked out, ever. */
  get hasShare(): boolean {
    return !Number.isNaN(this.#sharedOfMs)
  }

  reserve(pico: bigint): void {
    this.reserved += pico
    this.used += pico
  }

  giveBack(pico: bigint): void {
    this.reserved -= pico
    this.used -= pico
  }

  /** A record was written. @param readings Those of Postgres that are in use. */
  record(pico: bigint, name: RecordName, readings: readonly CountedReading[]): void {
    const { producer, sequence } = name
    this.recorded += pico
    this.used += pico
    this.costs.add(producer, sequence, pico)
    if (sequence > (this.lastSequences.get(producer) ?? 0)) this.lastSequences.set(producer, sequence)
    // A reading may have seen the record before this process heard that it was written.
    for (const { id, offsets } of readings) {
      const counted = this.counted.get(id)
      if (counted !== undefined && sequence <= (offsets.get(producer) ?? 0))
        this.counted.set(id, counted + pico)
    }
  }
}

/** Never below 0: others could not read it, and would count nothing of this gateway. */
function lessOf(pico: bigint, less: bigint): bigint {
  return pico > less ? pico - less : 0n
}

export function accountKey(limitId: string, fromDay: UtcDay): string {
  return `${limitId}@${fromDay}`
}
