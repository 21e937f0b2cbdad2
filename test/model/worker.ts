import type { SequenceRange } from '../../src/domain/sequence-range.ts'
import { type Decision, decide, type Gap } from '../../src/rollup/contiguous.ts'
import { createGapCheck } from '../../src/rollup/drain/gap-check.ts'
import type { Effects, Session } from './database.ts'
import type { Random } from './faults/random.ts'
import type { StreamEntry } from './stream.ts'
import type { World } from './world.ts'

interface Waiting {
  committedOffset: number
  lowest: number
  readonly entries: SequenceRange[]
}

interface ProducerDecision {
  readonly producer: string
  readonly before: number
  readonly decision: Decision<StreamEntry>
}

const MAX_BATCH = 6

/**
 * A worker's drain, one step of docs/ledger.md, section 5, at a time; it may die or freeze between any two. Reading the
 * next batch and deleting the last one overlap its transactions.
 */
export class WorkerModel {
  readonly #world: World
  #next: (random: Random) => void = (random) => this.#read(random)
  #session: Session | null = null
  #shard = 0
  #cursor = 0
  #batch: readonly StreamEntry[] = []
  /** The next batch, where it was read while this one's transaction ran. */
  #ahead: readonly StreamEntry[] = []
  /** Entries of committed batches that are still to leave the stream: that overlaps the next transaction. */
  #untrimmed: ReadonlySet<number>[] = []
  #committedOffsets = new Map<string, number>()
  #decisions: readonly ProducerDecision[] = []
  #jobs: Effects['jobs'] = null
  readonly #waiting = new Map<string, Waiting>()
  #overdueGaps: ReadonlyMap<string, readonly SequenceRange[]> = new Map()
  #gapCheck: ReturnType<typeof createGapCheck>

  constructor(world: World) {
    this.#world = world
    this.#gapCheck = createGapCheck({ now: () => world.nowMs })
  }

  /** The next step. */
  step(random: Random): void {
    if (this.#session?.ended === true && this.#world.has('sessionEnded')) {
      this.#fail()
      return
    }
    if (this.#session !== null) this.#session.usedMs = this.#world.nowMs
    this.#overlap(random)
    this.#next(random)
  }

  /** What goes on beside a transaction, at any moment of it. */
  #overlap(random: Random): void {
    if (random(3) === 0) this.#trimOne()
    if (this.#session !== null && this.#ahead.length === 0 && random(3) === 0) {
      this.#ahead = this.#world.stream.after(this.#shard, this.#cursor, 1 + random(MAX_BATCH))
      this.#cursor = this.#ahead.at(-1)?.id ?? this.#cursor
    }
  }

  #trimOne(): void {
    const ids = this.#untrimmed.shift()
    if (ids !== undefined) this.#world.stream.remove(ids)
  }

  /** Its process dies; another takes its place. */
  die(): void {
    this.#fail()
    this.#gapCheck = createGapCheck({ now: () => this.#world.nowMs })
  }

  #fail(): void {
    if (this.#session !== null) this.#world.database.end(this.#session)
    this.#session = null
    this.#untrimmed = []
    this.#restart()
    this.#overdueGaps = new Map()
    this.#next = (random) => this.#read(random)
  }

  #restart(): void {
    this.#cursor = 0
    this.#ahead = []
    this.#waiting.clear()
  }

  #read(random: Random): void {
    if (this.#ahead.length > 0) {
      this.#batch = this.#ahead
      this.#ahead = []
    } else {
      while (this.#untrimmed.length > 0) this.#trimOne()
      // What is known to be overdue is of the shard that was read last.
      if (this.#cursor === 0 && this.#overdueGaps.size === 0) this.#shard = random(this.#world.streams)
      this.#batch = this.#world.stream.after(this.#shard, this.#cursor, 1 + random(MAX_BATCH))
      this.#cursor = this.#batch.at(-1)?.id ?? this.#cursor
    }
    if (this.#batch.length > 0) {
      this.#next = () => this.#begin()
      return
    }
    if (this.#world.has('gapsPassed')) {
      const expired = this.#gapCheck.observe(`${this.#shard}`, this.#waiting)
      if (this.#overdueGaps.size === 0) this.#overdueGaps = expired
    }
    if (!this.#isBehindGaps()) this.#overdueGaps = new Map()
    this.#restart()
  }

  /** Step 1. */
  #begin(): void {
    const { database, nowMs } = this.#world
    this.#session = database.begin(nowMs)
    if (this.#world.has('oneWriter') && !database.lock(this.#session, `shard ${this.#shard}`)) this.#fail()
    else this.#next = () => this.#readCommittedOffsets()
  }

  /** Steps 2 and 3; waits while another has a row. */
  #readCommittedOffsets(): void {
    const { database } = this.#world
    const session = this.#session
    if (session === null) return
    const producers = [...new Set(this.#batch.map(({ producer }) => producer))].sort()
    if (this.#world.has('oneWriter') && !producers.every((producer) => database.lock(session, producer)))
      return
    this.#committedOffsets = new Map(
      producers.map((producer) => [producer, database.committedOffsetOf(producer)]),
    )
    this.#next = () => this.#decide()
  }

  /** Steps 4 to 7. */
  #decide(): void {
    const { database } = this.#world
    this.#decisions = [...this.#committedOffsets].map(([producer, before]) => {
      const gaps = database.totals.gaps.filter((gap) => gap.producer === producer)
      const entries = this.#batch.filter((entry) => entry.producer === producer)
      return {
        producer,
        before,
        decision: this.#decideOne(before, gaps, entries, this.#overdueGaps.get(producer)),
      }
    })
    this.#jobs = this.#world.has('jobOnce') ? null : 'all'
    this.#next = this.#world.has('trimAfterCommit') ? () => this.#count() : () => this.#trimEarly()
  }

  #decideOne(
    committedOffset: number,
    gaps: readonly Gap[],
    entries: readonly StreamEntry[],
    overdueGaps: readonly SequenceRange[] = [],
  ): Decision<StreamEntry> {
    const world = this.#world
    const decision = decide({ committedOffset, gaps }, entries, overdueGaps)
    if (!world.has('contiguous')) {
      const counted = entries.filter(({ to, gapReason }) => to > committedOffset && gapReason === null)
      return {
        ...decision,
        counted,
        waiting: [],
        committedOffset: Math.max(committedOffset, ...entries.map(({ to }) => to)),
      }
    }
    if (!world.has('duplicatesDropped')) {
      const again = entries.filter(({ to, gapReason }) => to <= committedOffset && gapReason === null)
      return { ...decision, counted: [...new Set([...decision.counted, ...again])] }
    }
    if (!world.has('gapWithCommit')) return { ...decision, newGaps: [] }
    if (!world.has('filledOnce'))
      return {
        ...decision,
        replacedGaps: [],
        newGaps: decision.newGaps.filter(({ recordedAt }) => recordedAt === null),
      }
    return decision
  }

  #trimEarly(): void {
    this.#world.stream.remove(this.#settled())
    this.#next = () => this.#count()
  }

  #count(): void {
    if (this.#world.has('claimWithTotals')) {
      this.#commit()
      return
    }
    this.#jobs = this.#world.database.claim(this.#counts(), this.#world.nowMs)
    this.#next = () => this.#commit()
  }

  #counts(): Effects['counts'] {
    return this.#decisions.flatMap(({ decision }) =>
      decision.counted.flatMap(({ call, complete }) => (call === null ? [] : [{ call, complete }])),
    )
  }

  /** Step 8. */
  #commit(): void {
    const effects: Effects = {
      counts: this.#counts(),
      jobs: this.#jobs,
      committedOffsets: new Map(
        this.#decisions.flatMap(({ producer, before, decision: { committedOffset } }) =>
          committedOffset === before ? [] : [[producer, committedOffset] as const],
        ),
      ),
      replacedGaps: this.#decisions.flatMap(({ decision }) => decision.replacedGaps),
      newGaps: this.#decisions.flatMap(({ producer, decision }) =>
        decision.newGaps.filter(({ filled }) => !filled).map((gap) => ({ ...gap, producer })),
      ),
    }
    if (this.#world.has('commitWithTotals')) {
      this.#world.commit(effects)
      this.#next = () => this.#trim()
      this.#endSession()
    } else {
      this.#world.commit({ ...effects, committedOffsets: new Map() })
      this.#next = () => {
        this.#world.commit({
          counts: [],
          jobs: null,
          committedOffsets: effects.committedOffsets,
          replacedGaps: [],
          newGaps: [],
        })
        this.#endSession()
        this.#next = () => this.#trim()
      }
    }
  }

  #endSession(): void {
    if (this.#session !== null) this.#world.database.end(this.#session)
    this.#session = null
  }

  /** Step 10, and where to read on. */
  #trim(): void {
    this.#untrimmed.push(this.#settled())
    for (const { producer, decision } of this.#decisions) {
      for (const { from, to } of decision.waiting) {
        const known = this.#waiting.get(producer) ?? { committedOffset: 0, lowest: from, entries: [] }
        this.#waiting.set(producer, known)
        known.lowest = Math.min(known.lowest, from)
        known.entries.push({ from, to })
      }
      const known = this.#waiting.get(producer)
      if (known !== undefined) known.committedOffset = decision.committedOffset
    }
    if (this.#waiting.values().some(({ committedOffset, lowest }) => lowest <= committedOffset + 1))
      this.#restart()
    this.#next = (random) => this.#read(random)
  }

  #settled(): ReadonlySet<number> {
    const waiting = new Set(this.#decisions.flatMap(({ decision }) => decision.waiting))
    return new Set(this.#batch.filter((entry) => !waiting.has(entry)).map(({ id }) => id))
  }

  #isBehindGaps(): boolean {
    return this.#waiting
      .entries()
      .some(
        ([producer, { committedOffset }]) =>
          this.#overdueGaps.get(producer)?.some(({ from }) => from === committedOffset + 1) ?? false,
      )
  }
}
