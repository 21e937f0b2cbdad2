/** A call's place in the journal's `open` table. */
export interface OpenSlot {
  readonly callId: string
  readonly slot: number
  /** The usage snapshot that is not written yet. */
  snapshot: string | null
}

/** Which call has which row of `open`, and whose usage snapshots must still be written. */
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

  /** The call needs its row no longer. The caller must delete the row before another call's open row is written. */
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

  /** Calls whose usage snapshots must still be written. */
  get pendingSnapshots(): readonly OpenSlot[] {
    return [...this.#pendingSnapshots]
  }

  /** The call's snapshot is written, or a later one is. */
  discardSnapshot(call: OpenSlot): void {
    this.#pendingSnapshots.delete(call)
  }
}
