import { Readable } from 'node:stream'
import { FairQueue } from './fair-queue.ts'

/** How long a slice may go on: far below the 20 ms that nobody may take the event loop for, as a slice ends late. */
const SLICE_MS = 2
/** Copied between two looks at the clock, and written to a socket in one turn: some 0.1 ms. */
const PIECE_BYTES = 256 * 1024

const EMPTY = Buffer.alloc(0)

/** Bodies up to this are worked on in one piece: at the worst some 2 ms, mostly some 10 µs. */
export const WHOLE_BYTES = 256 * 1024

/**
 * Does the next part of some work, until about `deadline`, in milliseconds of `performance.now()`. Whether that was
 * the last part. Must not throw.
 */
export type Step = (deadline: number) => boolean

/**
 * Work that is too long for one turn of the event loop, done in slices: one slice a turn, whoever's it is, and
 * clients take turns. How much of it waits is bounded by the room for request bodies, which is what it works on.
 */
export class SlicedWork {
  readonly #waiting = new FairQueue<{ readonly clientId: string; readonly step: Step }>()
  #scheduled = false

  /** Runs `step` until it says that it is done. Its first slice is in a later turn. */
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
    // Before the slice, so that it is in the next turn also when the slice ends in a callback.
    if (this.#waiting.length > 0) this.#schedule()
    if (!work.step(performance.now() + SLICE_MS)) this.run(work.clientId, work.step)
  }
}

/** The process has one event loop, so it has one of these. */
export const slicedWork = new SlicedWork()

/**
 * Joins `parts` into one buffer with memory of its own and lets them go as it goes along: `parts` is empty in the
 * end. Calls back in a later turn.
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
 * `body` as a stream of one piece a turn. In one piece, a socket whose other end is quick would take the event loop until
 * it has all of it.
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
