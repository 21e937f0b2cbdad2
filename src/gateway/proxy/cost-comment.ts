import type { IncomingMessage } from 'node:http'
import { costFields, PREFIX, type ShownCost } from './headers/cost-headers.ts'

/** Asks for the cost in a comment: `x-tallygate-cost: comment`. */
const COST_REQUEST_HEADER = 'x-tallygate-cost'

/** Google's own libraries fail at any line of its streams that is not data. */
const TAKES_DATA_ALONE = /:streamGenerateContent$/

/** @param path Of the call, as paths are compared. */
export function asksForComment({ headers }: IncomingMessage, path: string): boolean {
  return headers[COST_REQUEST_HEADER] === 'comment' && !TAKES_DATA_ALONE.test(path)
}

/** Long enough to know a blank line by, `\r\n\r\n`. */
const KEPT = 4

/**
 * The comment at the end of an event stream that says what its call used and cost: clients that do not show trailers may
 * read it, and those that read events alone pass over it (WHATWG HTML, 9.2.6).
 */
export class CostComment {
  #end = ''

  /** The next piece of the stream, as it goes to the client. */
  saw(piece: Buffer): void {
    const { length } = piece
    if (length > 0)
      this.#end = (this.#end + piece.toString('latin1', Math.max(0, length - KEPT))).slice(-KEPT)
  }

  /** `null`: nothing is known to be said, or the stream ends within a line. */
  of(call: ShownCost): Buffer | null {
    const fields = costFields(call).map(
      ([name, value]) => `${name.slice(PREFIX.length).replaceAll('-', '_')}=${value}`,
    )
    if (fields.length === 0 || !/[\r\n]$/.test(this.#end)) return null
    // A blank line would hand over an event that the upstream has left without its end.
    const end = /(?:\n\n|\r\r|\r\n\r\n)$/.test(this.#end) ? '\n\n' : '\n'
    return Buffer.from(`: tallygate ${fields.join(' ')}${end}`)
  }
}
