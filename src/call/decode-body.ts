import { inflaterOf } from './codings.ts'

/** Why a body could not be decoded. `too_large`: what it decodes to; `busy`: there is no room for that; `undecodable`: it is not what it says. */
export type DecodeProblem = 'too_large' | 'busy' | 'undecodable'

export interface DecodeLimits {
  /** Of the decoded body, and of what each coding on the way to it gives. */
  readonly limitBytes: number
  /** Takes room for decoded bytes; `false`: there is none. */
  take(bytes: number): boolean
  /** Gives room back. What the decoded body took is the caller's to give. */
  give(bytes: number): void
}

/** Decoded bytes for one encoded byte: text comes to 5 or 10, long white space to 70. */
const MAX_RATIO = 200
/** Below this the ratio says nothing and harms nobody. */
const RATIO_FREE_BYTES = 1024 * 1024

const OPEN_BRACE = 0x7b
const SPACES = new Set([0x09, 0x0a, 0x0d, 0x20])

/**
 * Undoes the content codings of a request body for its reader, on zlib's threads. The body must be the whole of what was encoded
 * and nothing behind it: of anything else servers read different parts. Calls back exactly once.
 *
 * @param codings known ones, in the order in which they were applied; at least one.
 */
export function decodeBody(
  body: Buffer,
  codings: readonly string[],
  limits: DecodeLimits,
  done: (decoded: Buffer | DecodeProblem) => void,
): void {
  // JSON that is a body in brotli or bare deflate too shows a server that ignores the header another text than us.
  if (looksPlain(body)) {
    done('undecodable')
    return
  }
  const maxBytes = Math.min(limits.limitBytes, Math.max(RATIO_FREE_BYTES, body.length * MAX_RATIO))
  let left = codings.length
  const undoNext = (encoded: Buffer) => {
    left -= 1
    undo(encoded, codings[left] ?? '', maxBytes, limits, (decoded) => {
      if (encoded !== body) limits.give(encoded.length)
      if (typeof decoded === 'string' || left === 0) done(decoded)
      else undoNext(decoded)
    })
  }
  undoNext(body)
}

function undo(
  body: Buffer,
  coding: string,
  maxBytes: number,
  limits: DecodeLimits,
  done: (decoded: Buffer | DecodeProblem) => void,
): void {
  const inflater = inflaterOf(coding, 'whole')?.(body[0] ?? 0)
  if (inflater === undefined) throw new RangeError(`no coding ${coding}`)
  const pieces: Buffer[] = []
  let bytes = 0
  const refuse = (problem: DecodeProblem) => {
    inflater.removeAllListeners('data').removeAllListeners('end').removeAllListeners('error')
    inflater.on('error', () => {})
    inflater.destroy()
    limits.give(bytes)
    done(problem)
  }
  inflater.on('data', (piece: Buffer) => {
    if (bytes + piece.length > maxBytes) {
      refuse('too_large')
      return
    }
    if (!limits.take(piece.length)) {
      refuse('busy')
      return
    }
    bytes += piece.length
    pieces.push(piece)
  })
  inflater.on('end', () => {
    if (inflater.bytesWritten === body.length) done(Buffer.concat(pieces, bytes))
    else refuse('undecodable')
  })
  inflater.on('error', () => refuse('undecodable'))
  inflater.end(body)
}

function looksPlain(body: Buffer): boolean {
  let at = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0
  while (SPACES.has(body[at] ?? 0)) at++
  return body[at] === OPEN_BRACE
}
