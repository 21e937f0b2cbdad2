import type { IncomingMessage } from 'node:http'
import { joinInSlices, WHOLE_BYTES } from '../../lib/sliced-work.ts'
import type { BodyBudget } from './body-budget.ts'
import type { BodyRoom, UploadProblem } from './body-room.ts'

/** Why a body was not read. `too_large`: it is over the limit. `gone`: the client left. */
export type BodyProblem = UploadProblem | 'too_large' | 'gone'

/**
 * Reads a whole request body of at most `limitBytes` into the client's part of `budget`. The caller releases
 * the room when it drops the body. Calls back exactly once; with a problem, the room was given back before. A
 * client below the minimum rate is `slow`.
 */
export function readBody(
  request: IncomingMessage,
  limitBytes: number,
  budget: BodyBudget,
  clientId: string,
  done: (body: Buffer | BodyProblem, room: BodyRoom | null) => void,
): void {
  const announced = request.headers['content-length']
  if (announced !== undefined && Number(announced) > limitBytes) {
    done('too_large', null)
    return
  }
  const chunks: Buffer[] = []
  let bytes = 0
  const stop = () => {
    request.off('data', onData)
    request.off('end', onEnd)
    request.off('close', onClose)
  }
  const refuse = (problem: BodyProblem) => {
    stop()
    chunks.length = 0
    room.release()
    done(problem, null)
  }
  const room = budget.open(clientId, refuse)
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > limitBytes) refuse('too_large')
    else if (room.grow(chunk.length)) chunks.push(chunk)
    else refuse('busy')
  }
  const onEnd = () => {
    stop()
    room.arrived()
    const [first] = chunks
    if (chunks.length === 1 && first !== undefined) done(first, room)
    else if (bytes <= WHOLE_BYTES) done(Buffer.concat(chunks, bytes), room)
    else joinInSlices(clientId, chunks, (body) => done(body, room))
  }
  const onClose = () => refuse('gone')
  request.on('data', onData)
  request.on('end', onEnd)
  request.on('close', onClose)
}
