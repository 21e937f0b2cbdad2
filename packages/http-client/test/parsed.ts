import type { AnswerHeaders } from '../src/answer-handler.ts'
import { ResponseParser } from '../src/response-parser.ts'

/** All that a parser said of one answer. */
export interface Parsed {
  readonly status: number | null
  readonly reason: string | null
  readonly rawHeaders: readonly string[]
  readonly headers: AnswerHeaders
  /** Latin1 characters. */
  readonly body: string
  readonly trailers: AnswerHeaders | null
  readonly isComplete: boolean
  readonly problem: string | null
  readonly hasSurplus: boolean
  readonly keepsConnection: boolean
}

/**
 * Reads an answer from its pieces, each in memory of its own as a socket's are.
 *
 * @param pieces `null`: the server closed
 */
export function parse(pieces: readonly (string | Buffer | null)[], isHead = false): Parsed {
  const parser = new ResponseParser()
  parser.begin(isHead)
  let body = ''
  for (const piece of pieces) {
    if (piece === null) parser.end()
    else parser.read(Buffer.from(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece))
    body += parser.takeBody()?.toString('latin1') ?? ''
  }
  const { head } = parser
  return {
    status: head?.status ?? null,
    reason: head?.reason ?? null,
    rawHeaders: head?.rawHeaders ?? [],
    headers: head?.headers ?? {},
    body,
    trailers: parser.trailers,
    isComplete: parser.isComplete,
    problem: parser.problem,
    hasSurplus: parser.hasSurplus,
    keepsConnection: parser.keepsConnection,
  }
}
