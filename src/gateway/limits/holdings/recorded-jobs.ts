import { RecordedCosts } from './recorded-costs.ts'

/**
 * What jobs reserve that were submitted through this gateway: a part of an account's records. Like a cost it counts
 * from the job's record on, until a reading of Postgres has it.
 */
export class RecordedJobs {
  /** Since the account began: pico-USD. */
  recorded = 0n
  readonly costs = new RecordedCosts()
  /** What of `recorded` is in readings of Postgres, by their ids; none where an id is absent. */
  readonly counted = new Map<string, bigint>()

  /** A record was written. `offsetIn`: how far the readings of Postgres that are in use have counted its journal. */
  record(pico: bigint, sequence: number, offsetIn: ReadonlyMap<string, number>): void {
    this.recorded += pico
    this.costs.add(sequence, pico)
    for (const [snapshotId, offset] of offsetIn)
      if (sequence <= offset) this.counted.set(snapshotId, (this.counted.get(snapshotId) ?? 0n) + pico)
  }

  /** Works out what of `recorded` is in a reading that has counted the records up to `offset`. */
  answer(snapshotId: string, offset: number): void {
    const counted = this.costs.upTo(offset)
    if (counted !== null && counted > 0n) this.counted.set(snapshotId, counted)
  }

  /** What of `recorded` is not in this reading. */
  since(snapshotId: string): bigint {
    return this.recorded - (this.counted.get(snapshotId) ?? 0n)
  }
}
