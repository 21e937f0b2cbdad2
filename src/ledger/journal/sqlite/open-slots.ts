/** A call's place in the journal's `open` table. */
export interface OpenSlot {
  readonly callId: string
  readonly slot: number
  /** Usage noted and not written yet. */
  snapshot: string | null
}

/** Which call has which row of `open`, and of which the usage seen is still to be written. */
export class OpenSlots {
  readonly #calls = new Map<string, OpenSlot>()
  /** Last freed, first used: its page is likely to be written in the same turn anyway. */
  readonly #free: number[] = []
  readonly #pendingSnapshots = new Set<OpenSlot>()
  #highest = 0

  get size(): number {
    return this.#calls.size
  }

  take(callId: string): OpenSlot {
    const call: OpenSlot = { callId, slot: this.#free.pop() ?? ++this.#highest, snapshot: null }
    this.#calls.set(callId, call)
    return call
  }

  /** `null`: the call has none. */
  find(callId: string): OpenSlot | null {
    return this.#calls.get(callId) ?? null
  }

  /** The call needs its row no more. The row is another's only after the deletion that must follow now. */
  release(callId: string): OpenSlot | null {
    const call = this.find(callId)
    if (call !== null) this.free(call)
    return call
  }

  /** The row was never written. */
  free(call: OpenSlot): void {
    if (this.#calls.get(call.callId) === call) {
      this.#calls.delete(call.callId)
      this.#free.push(call.slot)
    }
    this.#pendingSnapshots.delete(call)
  }

  saveSnapshot(call: OpenSlot, snapshot: string): void {
    call.snapshot = snapshot
    this.#pendingSnapshots.add(call)
  }

  /** Those whose usage seen is to be written. */
  get pendingSnapshots(): readonly OpenSlot[] {
    return [...this.#pendingSnapshots]
  }

  /** What was noted of the call is written, or overtaken. */
  discardSnapshot(call: OpenSlot): void {
    this.#pendingSnapshots.delete(call)
  }
}
