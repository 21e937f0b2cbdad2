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
  /** By their numbers, which rise. Those that are records now are gone. */
  readonly #underWay = new Map<number, JournalCall>()

  constructor(options: DeadSegmentJournalOptions) {
    const calls = new OpenCalls()
    super({ ...options, reserve: null, cleans: false, calls })
    const home = options.segments.current
    for (const { number, text, snapshot } of options.underWay) {
      const call = new JournalCall('', text, null)
      call.number = number
      call.snapshot = snapshot
      calls.opened(call, home)
      this.#underWay.set(number, call)
    }
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
    const rows: InterruptedRow[] = []
    for (const { number, text, snapshot } of this.#underWay.values()) {
      if (rows.length >= maxRows) break
      if (number > afterSlot) rows.push({ slot: number, call: text, snapshot })
    }
    return rows
  }

  closeInterrupted({ slot }: InterruptedRow, body: string, onWritten: OnWritten): void {
    const call = this.#underWay.get(slot) ?? null
    const written: OnWritten = (error, sequence) => {
      if (error === null) this.#underWay.delete(slot)
      onWritten(error, sequence)
    }
    this.writer.enqueue(new LogOperation('close', call, body, written))
  }
}
