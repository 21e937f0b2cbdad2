import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { RolledUp } from '../rolled-up.ts'

/** The entries behind gaps that a reading from the stream's beginning has passed. */
export class WaitingEntries {
  readonly byProducer = new Map<
    string,
    { committedOffset: number; lowest: number; entries: SequenceRange[] }
  >()
  count = 0

  add({ waiting, committedOffsets }: RolledUp): void {
    for (const { producer, from, to } of waiting) {
      const known = this.byProducer.get(producer)
      if (known === undefined)
        this.byProducer.set(producer, { committedOffset: 0, lowest: from, entries: [{ from, to }] })
      else {
        known.lowest = Math.min(known.lowest, from)
        known.entries.push({ from, to })
      }
    }
    this.count += waiting.length
    for (const [producer, known] of this.byProducer)
      known.committedOffset = committedOffsets.get(producer) ?? known.committedOffset
  }

  /**
   * Whether a committed offset has reached entries that were passed: they can be counted now, or are
   * duplicates.
   */
  canAdvance(): boolean {
    return this.byProducer.values().some(({ committedOffset, lowest }) => lowest <= committedOffset + 1)
  }

  /** Whether entries wait behind one of these gaps. */
  isBehind(overdueGaps: ReadonlyMap<string, readonly SequenceRange[]>): boolean {
    return this.byProducer
      .entries()
      .some(
        ([producer, { committedOffset }]) =>
          overdueGaps.get(producer)?.some(({ from }) => from === committedOffset + 1) ?? false,
      )
  }

  clear(): void {
    this.byProducer.clear()
    this.count = 0
  }
}
