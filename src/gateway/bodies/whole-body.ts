import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DecodeProblem, decodeBody } from '../../http/codings/decode-body.ts'
import type { BodyBudget } from './body-budget.ts'
import type { BodyRoom } from './body-room.ts'
import { asUtf8, seemsCompressed } from './body-text.ts'
import { type BodyProblem, readBody } from './request-stream.ts'

/** A request's body that was read whole. */
export interface WholeBody {
  /** As the client sent it. */
  readonly sent: Buffer
  /** As its reader gets it: content codings undone, in UTF-8. */
  readonly plain: Buffer
  /** Holds the room of both; the caller releases it when it drops them. */
  readonly room: BodyRoom | null
}

export type WholeBodyProblem = BodyProblem | DecodeProblem

export interface WholeBodyOptions {
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
}

/**
 * Reads a request's body and undoes its content codings for its reader. `undecodable`: it is not what its
 * headers say, or it is compressed and they do not say so. Calls back exactly once.
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
  readBody(request, bodyLimitBytes, bodyBudget, clientId, (sent, room) => {
    if (typeof sent === 'string') {
      done(sent)
      return
    }
    if (codings.length === 0) {
      finish(sent, sent, room, response, done)
      return
    }
    const mayGrow = (bytes: number) => room?.grow(bytes) !== false
    decodeBody(sent, codings, clientId, bodyLimitBytes, mayGrow, (decoded) =>
      finish(sent, decoded, room, response, done),
    )
  })
}

function finish(
  sent: Buffer,
  decoded: Buffer | DecodeProblem,
  room: BodyRoom | null,
  response: ServerResponse,
  done: (body: WholeBody | WholeBodyProblem) => void,
): void {
  const plain = typeof decoded === 'string' ? decoded : asUtf8(decoded)
  if (typeof plain !== 'string' && !response.destroyed && !seemsCompressed(plain)) {
    done({ sent, plain, room })
    return
  }
  room?.release()
  if (response.destroyed) done('gone')
  else done(typeof plain === 'string' ? plain : 'undecodable')
}
