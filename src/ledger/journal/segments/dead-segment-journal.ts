import type { OnWritten } from '../journal.ts'
import type { DeadJournal, InterruptedRow } from '../journal-store.ts'
import type { RecoveredCall } from './recovery/recovered-calls.ts'
import { SegmentJournal, type SegmentJournalOptions } from './segment-journal.ts'
import { LogOperation } from './turns/log-turn.ts'
import { JournalCall, OpenCalls } from './turns/open-calls.ts'

export interface DeadSegmentJournalOptions
  extends Omit<SegmentJournalOptions, 'reserve' | 'cleans' | 'calls'> {
  /** The calls that were under way, by rising number. */
  readonly underWay: readonly RecoveredCall[]
  /** Calls of which it is not known whether they had ended, as they were written. */
  readonly doubted: readonly string[]
  /** So many calls were opened of which nothing can be read. */
  readonly unknown: number
}

/** The journal of a dead producer. Its segments go with its folder: until then they are what an inspection needs. */
export class DeadSegmentJournal extends SegmentJournal implements DeadJournal {
  readonly doubted: readonly string[]
  readonly unknown: number
  readonly #underWay: readonly JournalCall[]
  readonly #byNumber: ReadonlyMap<number, JournalCall>

  constructor(options: DeadSegmentJournalOptions) {
    const calls = new OpenCalls()
    super({ ...options, reserve: null, cleans: false, calls })
    const home = options.segments.current
    this.#underWay = options.underWay.map(({ number, text, snapshot }) => {
      const call = new JournalCall('', text, null)
      call.number = number
      call.snapshot = snapshot
      calls.opened(call, home)
      return call
    })
    this.#byNumber = new Map(this.#underWay.map((call) => [call.number, call]))
    this.doubted = options.doubted
    this.unknown = options.unknown
  }

  get stream(): string {
    return this.segments.options.stream
  }

  get isTailLost(): boolean {
    return this.segments.options.isTailLost
  }

  selectInterrupted(afterSlot: number, maxRows: number): readonly InterruptedRow[] {
    const first = this.#underWay.findIndex(({ number }) => number > afterSlot)
    if (first === -1) return []
    const calls = this.#underWay.slice(first, first + maxRows)
    return calls.map(({ number, text, snapshot }) => ({ slot: number, call: text, snapshot }))
  }

  closeInterrupted({ slot }: InterruptedRow, body: string, onWritten: OnWritten): void {
    const call = this.#byNumber.get(slot) ?? null
    this.writer.enqueue(new LogOperation('close', call, body, onWritten))
  }
}
