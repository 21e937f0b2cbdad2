import { type DatabaseModel, jobReportedBy, type Totals } from './database.ts'
import type { Garbling } from './journal/garbling.ts'
import type { JournalModel } from './journal/journal.ts'
import type { JournalWrite } from './journal/tables.ts'
import type { StreamModel } from './stream.ts'
import { Violation } from './violation.ts'

interface Call {
  readonly producer: string
  /** It reached the upstream, and nothing that the claim excepts has happened to it. */
  owed: boolean
  /** Its client has the whole answer. */
  answered: boolean
  /** Postgres lost more than the keep time, or the journal was lost: it may be in a recorded gap. */
  mayBeGap: boolean
  /** When Postgres last regressed behind it. */
  uncountedMs: number
}

/** What really happened to each call, which no part of the model can see, against what is counted. */
export class Calls {
  readonly #calls: Call[] = []
  readonly #numbered = new Map<string, Map<number, number>>()

  /** The number that the next call gets. */
  get next(): number {
    return this.#calls.length
  }

  add(producer: string): number {
    const call = {
      producer,
      owed: false,
      answered: false,
      mayBeGap: false,
      uncountedMs: Number.NEGATIVE_INFINITY,
    }
    return this.#calls.push(call) - 1
  }

  wentUpstream(call: number): void {
    const known = this.#calls[call]
    if (known !== undefined) known.owed = true
  }

  answered(call: number): void {
    const known = this.#calls[call]
    if (known !== undefined) known.answered = true
  }

  numbered(producer: string, sequence: number, call: number): void {
    const numbers = this.#numbered.get(producer) ?? new Map<number, number>()
    this.#numbered.set(producer, numbers)
    numbers.set(sequence, call)
  }

  /** Power loss took these writes: what only they had is excepted from the claim. */
  cut(journal: JournalModel, lost: readonly JournalWrite[]): void {
    for (const write of lost) {
      if (write.kind === 'pruned') continue
      const call = this.#calls[write.call]
      if (call === undefined) continue
      if (write.kind === 'record') {
        call.answered = false
        this.#numbered.get(journal.producer)?.delete(write.sequence)
      }
      if (write.kind === 'open') call.owed = false
    }
  }

  /** A disk destroyed what it had synced: excepted are the records, and calls that nothing tells ended from running. */
  garbled({ records, doubtful, isTail }: Garbling): void {
    for (const number of records) {
      const call = this.#calls[number]
      if (call === undefined) continue
      call.mayBeGap = true
      call.answered = false
      call.owed &&= !isTail
    }
    for (const number of doubtful) {
      const call = this.#calls[number]
      if (call !== undefined) call.owed = false
    }
  }

  /**
   * The disk is gone: owed is only what is counted, or is on the stream. What Postgres regressed behind may
   * be leaving the stream, by a worker that committed it before; refilling it would need the journal.
   */
  journalLost(journal: JournalModel, totals: Totals, stream: StreamModel): void {
    this.#calls.forEach((call, number) => {
      if (call.producer !== journal.producer) return
      call.mayBeGap = true
      const isRefilled = call.uncountedMs > Number.NEGATIVE_INFINITY
      if (!totals.counted.has(number)) call.owed &&= isOn(stream, number) && !isRefilled
      call.answered = false
    })
  }

  /** Redis lost entries, or Postgres regressed: what had no other place is not owed any more. */
  entriesLost(lost: ReadonlySet<string>, totals: Totals, stream: StreamModel): void {
    this.#calls.forEach((call, number) => {
      if (lost.has(call.producer) && !totals.counted.has(number)) call.owed &&= isOn(stream, number)
    })
  }

  /** Postgres regressed; `beyond`: by more than the keep time. What no journal has any more is then to be named. */
  regressed(
    before: Totals,
    database: DatabaseModel,
    journals: readonly JournalModel[],
    beyond: boolean,
    nowMs: number,
  ): void {
    for (const number of before.counted.keys()) {
      const call = this.#calls[number]
      if (call === undefined || database.totals.counted.has(number)) continue
      call.uncountedMs = nowMs
      const journal = journals.find(({ producer }) => producer === call.producer)
      if (journal?.state === 'lost') call.owed = false
      if (!beyond || journal === undefined) continue
      if (!journal.read(0, Number.POSITIVE_INFINITY).some((at) => journal.get(at)?.call === number))
        call.mayBeGap = true
    }
  }

  /**
   * After every commit: nothing counts twice, what a job reported counts once, and no committed offset covers what is
   * neither counted nor a recorded gap.
   */
  checkTotals({ counted, committedOffsets, gaps, jobs }: Totals): void {
    for (const [call, { times, complete }] of counted) {
      if (times > 1) throw new Violation(`call ${call} is counted ${times} times`)
      const job = complete ? jobReportedBy(call) : null
      const used = job === null ? 1 : (jobs.get(job) ?? 0)
      if (used !== 1) throw new Violation(`what job ${job} used is counted ${used} times`)
    }
    for (const [producer, committedOffset] of committedOffsets)
      for (let sequence = 1; sequence <= committedOffset; sequence++) {
        if (gaps.some((gap) => gap.producer === producer && gap.from <= sequence && sequence <= gap.to))
          continue
        const call = this.#numbered.get(producer)?.get(sequence)
        if (call === undefined || !counted.has(call))
          throw new Violation(
            `the committed offset of ${producer} claims ${sequence}, which is not in the totals`,
          )
      }
  }

  /**
   * Checks before a journal prunes: no record may go that Postgres may need, as it is or as it was within the
   * keep time.
   *
   * @param unseenMs Postgres regressed since then, and is as before again, unseen: the claim excepts a second
   * time.
   */
  checkPrune(
    { producer, prunedTo }: JournalModel,
    to: number,
    states: readonly Totals[],
    unseenMs: number | null,
  ): void {
    for (let sequence = prunedTo + 1; sequence <= to; sequence++) {
      const number = this.#numbered.get(producer)?.get(sequence) ?? -1
      const call = this.#calls[number]
      if (call?.owed === false || call?.mayBeGap === true) continue
      states.forEach(({ counted }, index) => {
        if (counted.has(number)) return
        if (index === 0)
          throw new Violation(`the journal of ${producer} forgets ${sequence}, which is not counted`)
        if (unseenMs === null || (call?.uncountedMs ?? 0) < unseenMs)
          throw new Violation(`the journal of ${producer} forgets ${sequence}, which Postgres may lose`)
        if (call !== undefined) call.mayBeGap = true
      })
    }
  }

  /** What is still owed when everything works again; empty: nothing. */
  owed({ counted, gaps }: Totals): string[] {
    const inGap = new Set<number>()
    const problems: string[] = []
    for (const { producer, from, to } of gaps)
      for (let sequence = from; sequence <= to; sequence++) {
        const number = this.#numbered.get(producer)?.get(sequence)
        const call = number === undefined ? undefined : this.#calls[number]
        if (number === undefined || call === undefined) continue
        inGap.add(number)
        if (call.owed && !call.mayBeGap) problems.push(`call ${number} lies in a gap and need not`)
      }
    this.#calls.forEach(({ owed, answered }, number) => {
      const count = counted.get(number)
      if (count === undefined && owed && !inGap.has(number)) problems.push(`call ${number} is not counted`)
      if (count?.complete === false && answered && owed)
        problems.push(`call ${number} was answered and is counted as interrupted`)
    })
    return problems
  }
}

function isOn(stream: StreamModel, call: number): boolean {
  return stream.entries.some((entry) => entry.call === call)
}
