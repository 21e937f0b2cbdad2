const FIRST_LENGTH = 256

/** The places of a segment's records, in 12 bytes each: they rise in sequence, position and bytes. */
export class RecordIndex {
  /** The sequence and the bytes of all bodies before the first record: what is kept is the difference to these. */
  #sequenceBefore: number
  #bytesBefore: number
  #sequences = new Uint32Array(FIRST_LENGTH)
  #positions = new Uint32Array(FIRST_LENGTH)
  #bytes = new Uint32Array(FIRST_LENGTH)
  #length = 0

  constructor(sequenceBefore: number, bytesBefore: number) {
    this.#sequenceBefore = sequenceBefore
    this.#bytesBefore = bytesBefore
  }

  /** How many records there are. */
  get length(): number {
    return this.#length
  }

  /** The highest sequence; without records, the one before. */
  get last(): number {
    return this.#length === 0 ? this.#sequenceBefore : this.sequence(this.#length - 1)
  }

  /** Bytes of all bodies before the first record. */
  get bytesBefore(): number {
    return this.#bytesBefore
  }

  /** Sets what was before the first record, while there is none. */
  restart(sequenceBefore: number, bytesBefore: number): void {
    if (this.#length > 0) throw new Error('the index has records')
    this.#sequenceBefore = sequenceBefore
    this.#bytesBefore = bytesBefore
  }

  /** Adds the next record. `bytesTotal` is that of all bodies with this one. */
  add(sequence: number, position: number, bytesTotal: number): void {
    if (this.#length === this.#sequences.length) this.#grow(this.#length * 2)
    this.#sequences[this.#length] = sequence - this.#sequenceBefore
    this.#positions[this.#length] = position
    this.#bytes[this.#length] = bytesTotal - this.#bytesBefore
    this.#length++
  }

  sequence(index: number): number {
    return this.#sequenceBefore + (this.#sequences[index] ?? 0)
  }

  position(index: number): number {
    return this.#positions[index] ?? 0
  }

  bytesTotal(index: number): number {
    return this.#bytesBefore + (this.#bytes[index] ?? 0)
  }

  /** The index of the first record above `sequence`; `length`: there is none. */
  firstAfter(sequence: number): number {
    let [low, high] = [0, this.#length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.sequence(middle) > sequence) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Drops the records above `sequence`. */
  dropAfter(sequence: number): void {
    this.#length = this.firstAfter(sequence)
  }

  /** No more records come. */
  seal(): void {
    this.#grow(this.#length)
  }

  #grow(length: number): void {
    this.#sequences = copyOf(this.#sequences, length)
    this.#positions = copyOf(this.#positions, length)
    this.#bytes = copyOf(this.#bytes, length)
  }
}

function copyOf(numbers: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const copy = new Uint32Array(length)
  copy.set(numbers.subarray(0, Math.min(length, numbers.length)))
  return copy
}
