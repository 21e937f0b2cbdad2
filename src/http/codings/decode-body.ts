import { joinInSlices } from '../../lib/sliced-work.ts'
import { inflaterOf } from './codings.ts'

/**
 * Why a body could not be decoded. `too_large`: its decoded form is over the limit. `busy`: there is no room
 * for that form. `undecodable`: it is not what its header says.
 */
export type DecodeProblem = 'too_large' | 'busy' | 'undecodable'

/** Decoded bytes for each encoded byte: text has 5 or 10, long white space 70. */
const MAX_RATIO = 200
/** Below this size the ratio is meaningless, and the body harmless. */
const RATIO_FREE_BYTES = 1024 * 1024

const EMPTY = Buffer.alloc(0)
const OPEN_BRACE = 0x7b
const SPACES = new Set([0x09, 0x0a, 0x0d, 0x20])

/**
 * Undoes the content codings of a request body for its reader, on zlib's threads. The body must be one whole
 * encoded stream, with nothing after it: servers read different parts of anything else. Calls back exactly
 * once.
 *
 * @param codings known ones, in the order in which they were applied; at least one.
 * @param limitBytes of the decoded body, and of the output of each coding on the way.
 * @param takeRoom takes room for decoded bytes; `false`: there is none. The caller releases it.
 */
export function decodeBody(
  body: Buffer,
  codings: readonly string[],
  clientId: string,
  limitBytes: number,
  takeRoom: (bytes: number) => boolean,
  done: (decoded: Buffer | DecodeProblem) => void,
): void {
  // A text can be JSON and a body in brotli or bare deflate at once. A server that ignores the header would
  // read another text than the gateway.
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
