import { Readable } from 'node:stream'
import { FairQueue } from './fair-queue.ts'

/** Longest slice: far below the 20 ms for which work may block the event loop, since a slice overruns. */
const SLICE_MS = 2
/** Bytes copied between two readings of the clock, and written to a socket in one turn: about 0.1 ms. */
const PIECE_BYTES = 256 * 1024

const EMPTY = Buffer.alloc(0)

/** Bodies up to this are processed in one piece: 2 ms at worst, mostly 10 µs. */
export const WHOLE_BYTES = 256 * 1024

/**
 * Does the next part of some work until about `deadline` (milliseconds of `performance.now()`). Returns
 * whether that was the last part. Must not throw.
 */
export type Step = (deadline: number) => boolean

/**
 * Work that is too long for one turn of the event loop, done in slices: one slice a turn, clients in turn.
 * The budget for request bodies bounds how much of it waits.
 */
export class SlicedWork {
  readonly #waiting = new FairQueue<{ readonly clientId: string; readonly step: Step }>()
  #scheduled = false

  /** Runs `step` until it returns true. The first slice runs in a later turn. */
  run(clientId: string, step: Step): void {
    this.#waiting.push(clientId, { clientId, step }, 0)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#slice())
  }

  #slice(): void {
    this.#scheduled = false
    const work = this.#waiting.shift()
    if (work === undefined) return
    // Scheduled before the slice, so that the next one runs in the next turn also when this slice ends in a
    // callback.
    if (this.#waiting.length > 0) this.#schedule()
    if (!work.step(performance.now() + SLICE_MS)) this.run(work.clientId, work.step)
  }
}

/** One per process, as there is one event loop. */
export const slicedWork = new SlicedWork()

/**
 * Joins `parts` into one buffer of its own and releases them on the way: `parts` is empty in the end. Calls
 * back in a later turn.
 */
export function joinInSlices(clientId: string, parts: Buffer[], done: (joined: Buffer) => void): void {
  let bytes = 0
  for (const part of parts) bytes += part.length
  const joined = Buffer.allocUnsafeSlow(bytes)
  let next = 0
  let from = 0
  let at = 0
  slicedWork.run(clientId, (deadline) => {
    for (let part = parts[next]; part !== undefined; part = parts[next]) {
      const copied = part.copy(joined, at, from, from + PIECE_BYTES)
      at += copied
      from += copied
      if (from >= part.length) {
        parts[next] = EMPTY
        next += 1
        from = 0
      }
      if (performance.now() > deadline) return false
    }
    parts.length = 0
    done(joined)
    return true
  })
}

/**
 * `body` as a stream of one chunk a turn. Written at once, a fast reader's socket would block the event loop
 * until it has all of it.
 */
export function inPieces(body: Buffer): Readable {
  let at = 0
  const stream = new Readable({
    highWaterMark: PIECE_BYTES,
    read() {
      setImmediate(() => {
        if (stream.destroyed) return
        const piece = body.subarray(at, at + PIECE_BYTES)
        at += piece.length
        stream.push(piece.length > 0 ? piece : null)
      })
    },
  })
  return stream
}
