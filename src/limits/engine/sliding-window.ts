/** What was used counts for this long. */
export const WINDOW_MS = 60_000
/** Use is summed up in buckets of this length: a window counts 60 to 60.25 seconds. */
const BUCKET_MS = 250
const BUCKETS = WINDOW_MS / BUCKET_MS
/** What is reported to other gateways is summed up in ages of this length. */
export const AGE_STEP_MS = 2_500
export const AGE_STEPS = WINDOW_MS / AGE_STEP_MS
/** Expired buckets are cut off the list once they are so many, and half of it. */
const COMPACT_FROM = 64

/** What was used in the last minute. Only buckets with use in them take memory. */
export class SlidingWindow {
  #buckets: number[] = []
  #amounts: number[] = []
  #head = 0
  #sum = 0

  /** @param nowMs Monotonic milliseconds, as everywhere here. */
  used(nowMs: number): number {
    const oldest = Math.floor(nowMs / BUCKET_MS) - BUCKETS
    const buckets = this.#buckets
    let first = buckets[this.#head]
    while (first !== undefined && first < oldest) {
      this.#sum -= this.#amounts[this.#head] ?? 0
      this.#head += 1
      first = buckets[this.#head]
    }
    if (first === undefined && this.#head > 0) this.#clear()
    else if (this.#head > COMPACT_FROM && this.#head * 2 > buckets.length) this.#compact()
    return this.#sum
  }

  /** Adds a use of now. Returns its bucket, by which it can be corrected. */
  add(nowMs: number, amount: number): number {
    const bucket = Math.floor(nowMs / BUCKET_MS)
    const last = this.#buckets.length - 1
    // A clock that is set back would break the order: what it says counts with the newest.
    if (last >= this.#head && (this.#buckets[last] ?? 0) >= bucket)
      this.#amounts[last] = (this.#amounts[last] ?? 0) + amount
    else {
      this.#buckets.push(bucket)
      this.#amounts.push(amount)
    }
    this.#sum += amount
    return this.#buckets[this.#buckets.length - 1] ?? bucket
  }

  /** Corrects a use by `delta`. Nothing where its bucket is over. */
  correct(bucket: number, delta: number): void {
    const at = this.#find(bucket)
    if (at < 0) return
    this.#amounts[at] = (this.#amounts[at] ?? 0) + delta
    this.#sum += delta
  }

  #amountOf(bucket: number): number {
    return this.#amounts[this.#find(bucket)] ?? 0
  }

  /** Where the bucket is in the list; below 0: it is over, or nothing was used in it. */
  #find(bucket: number): number {
    let low = this.#head
    let high = this.#buckets.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const found = this.#buckets[middle] ?? 0
      if (found === bucket) return middle
      if (found < bucket) low = middle + 1
      else high = middle - 1
    }
    return -1
  }

  /** Milliseconds until the newest use is over; 0: nothing is used. */
  resetMs(nowMs: number): number {
    if (this.used(nowMs) === 0) return 0
    const newest = this.#buckets[this.#buckets.length - 1] ?? 0
    return Math.max(0, (newest + BUCKETS + 1) * BUCKET_MS - nowMs)
  }

  /**
   * Milliseconds until so much of it is over; `null`: there is not so much.
   *
   * @param without A part of the use that is left out.
   */
  freesMs(amount: number, nowMs: number, without: SlidingWindow | null = null): number | null {
    let sum = 0
    for (let at = this.#head; at < this.#buckets.length && sum < amount; at += 1) {
      sum += this.#amounts[at] ?? 0
      if (without !== null) sum -= without.#amountOf(this.#buckets[at] ?? 0)
      if (sum >= amount) return Math.max(0, ((this.#buckets[at] ?? 0) + BUCKETS + 1) * BUCKET_MS - nowMs)
    }
    return amount <= 0 ? 0 : null
  }

  /** Use by age, in steps of `AGE_STEP_MS`, the youngest first, without zeros at the end. */
  byAge(nowMs: number): number[] {
    this.used(nowMs)
    const steps: number[] = []
    for (let at = this.#head; at < this.#buckets.length; at += 1) {
      const ageMs = nowMs - (this.#buckets[at] ?? 0) * BUCKET_MS
      const step = Math.min(Math.max(0, Math.floor((ageMs - BUCKET_MS) / AGE_STEP_MS)), AGE_STEPS - 1)
      while (steps.length <= step) steps.push(0)
      steps[step] = (steps[step] ?? 0) + (this.#amounts[at] ?? 0)
    }
    return steps
  }

  #clear(): void {
    this.#buckets = []
    this.#amounts = []
    this.#head = 0
    this.#sum = 0
  }

  #compact(): void {
    this.#buckets = this.#buckets.slice(this.#head)
    this.#amounts = this.#amounts.slice(this.#head)
    this.#head = 0
  }
}

/** What another gateway's use by age comes to, `laterMs` after it was reported. */
export function usedByAge(steps: readonly number[], laterMs: number): number {
  let sum = 0
  for (let step = 0; step < steps.length; step += 1) {
    if (step * AGE_STEP_MS + laterMs < WINDOW_MS) sum += steps[step] ?? 0
  }
  return sum
}
