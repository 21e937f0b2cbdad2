import { joinInSlices } from '../../lib/sliced-work.ts'
import { inflaterOf } from './codings.ts'

/** Why a body could not be decoded. `too_large`: what it decodes to; `busy`: there is no room for that; `undecodable`: it is not what it says. */
export type DecodeProblem = 'too_large' | 'busy' | 'undecodable'

/** Decoded bytes for one encoded byte: text comes to 5 or 10, long white space to 70. */
const MAX_RATIO = 200
/** Below this size the ratio means nothing and does no harm. */
const RATIO_FREE_BYTES = 1024 * 1024

const EMPTY = Buffer.alloc(0)
const OPEN_BRACE = 0x7b
const SPACES = new Set([0x09, 0x0a, 0x0d, 0x20])

/**
 * Undoes the content codings of a request body for its reader, on zlib's threads. The body must be the whole of what was encoded
 * and nothing behind it: of anything else servers read different parts. Calls back exactly once.
 *
 * @param codings known ones, in the order in which they were applied; at least one.
 * @param limitBytes of the decoded body, and of what each coding on the way to it gives.
 * @param takeRoom for decoded bytes; `false`: there is none. Releasing it is the caller's.
 */
export function decodeBody(
  body: Buffer,
  codings: readonly string[],
  clientId: string,
  limitBytes: number,
  takeRoom: (bytes: number) => boolean,
  done: (decoded: Buffer | DecodeProblem) => void,
): void {
  // JSON that is a body in brotli or bare deflate too shows a server that ignores the header another text than us.
  if (seemsPlain(body)) {
    done('undecodable')
    return
  }
  const maxBytes = Math.min(limitBytes, Math.max(RATIO_FREE_BYTES, body.length * MAX_RATIO))
  let left = codings.length
  const undoNext = (encoded: Buffer) => {
    left -= 1
    const next = left === 0 ? done : undoNext
    undo(encoded, codings[left] ?? '', maxBytes, takeRoom, (pieces) => {
      if (typeof pieces === 'string') done(pieces)
      else if (pieces.length === 1) next(pieces[0] ?? EMPTY)
      else joinInSlices(clientId, pieces, next)
    })
  }
  undoNext(body)
}

function undo(
  body: Buffer,
  coding: string,
  maxBytes: number,
  takeRoom: (bytes: number) => boolean,
  done: (pieces: Buffer[] | DecodeProblem) => void,
): void {
  const inflater = inflaterOf(coding, 'whole')?.(body[0] ?? 0)
  if (inflater === undefined) throw new RangeError(`no coding ${coding}`)
  const pieces: Buffer[] = []
  let bytes = 0
  const refuse = (problem: DecodeProblem) => {
    inflater.removeAllListeners('data').removeAllListeners('end').removeAllListeners('error')
    inflater.on('error', () => {})
    inflater.destroy()
    done(problem)
  }
  inflater.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes > maxBytes) refuse('too_large')
    else if (takeRoom(piece.length)) pieces.push(piece)
    else refuse('busy')
  })
  inflater.on('end', () => {
    if (inflater.bytesWritten === body.length) done(pieces)
    else refuse('undecodable')
  })
  inflater.on('error', () => refuse('undecodable'))
  inflater.end(body)
}

function seemsPlain(body: Buffer): boolean {
  let at = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0
  while (SPACES.has(body[at] ?? 0)) at++
  return body[at] === OPEN_BRACE
}
