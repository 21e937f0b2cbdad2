/** Sequences of one producer, both ends included. */
export interface SequenceRange {
  readonly from: number
  readonly to: number
}
