import type { IncomingMessage, ServerResponse } from 'node:http'
import { asUtf8, looksCompressed } from './body-text.ts'
import { type DecodeLimits, type DecodeProblem, decodeBody } from './decode-body.ts'
import { type BodyBudget, type BodyProblem, readBody } from './request-stream.ts'

/** A request's body that was read whole. */
export interface WholeBody {
  /** As the client sent it. */
  readonly sent: Buffer
  /** As its reader reads it: content codings undone, in UTF-8. */
  readonly plain: Buffer
  /** What both take of the budget; the caller gives it back when it lets them go. */
  readonly heldBytes: number
}

export type WholeBodyProblem = BodyProblem | DecodeProblem

export interface WholeBodyOptions {
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
}

/**
 * Reads a request's body and undoes its content codings for its reader. `undecodable`: it is not what it says, or it is compressed
 * and does not say so. Calls back exactly once.
 *
 * @param codings known ones, in the order in which they were applied.
 * @param response closed when the client leaves.
 */
export function readWholeBody(
  request: IncomingMessage,
  response: ServerResponse,
  codings: readonly string[],
  { bodyLimitBytes, bodyBudget }: WholeBodyOptions,
  clientId: string,
  done: (body: WholeBody | WholeBodyProblem) => void,
): void {
  const finish = (sent: Buffer, decoded: Buffer, heldBytes: number) => {
    const plain = asUtf8(decoded)
    if (!response.destroyed && !looksCompressed(plain)) {
      done({ sent, plain, heldBytes })
      return
    }
    bodyBudget.give(clientId, heldBytes)
    done(response.destroyed ? 'gone' : 'undecodable')
  }
  readBody(request, bodyLimitBytes, bodyBudget, clientId, (sent) => {
    if (typeof sent === 'string') {
      done(sent)
      return
    }
    if (codings.length === 0) {
      finish(sent, sent, sent.length)
      return
    }
    const limits: DecodeLimits = {
      limitBytes: bodyLimitBytes,
      take: (bytes) => bodyBudget.take(clientId, bytes),
      give: (bytes) => bodyBudget.give(clientId, bytes),
    }
    decodeBody(sent, codings, limits, (decoded) => {
      if (typeof decoded !== 'string') {
        finish(sent, decoded, sent.length + decoded.length)
        return
      }
      bodyBudget.give(clientId, sent.length)
      done(decoded)
    })
  })
}
