import type { IncomingMessage, ServerResponse } from 'node:http'
import { WHOLE_BYTES } from '../../lib/sliced-work.ts'
import { readFormStart } from '../forms/form-upload.ts'
import type { ReadableBody } from './body-reading.ts'
import { type CallBody, UNREAD_BODY } from './body-reading.ts'
import type { RequestScan } from './request-body.ts'
import { scanInSlices, scanRequestBody } from './request-body.ts'
import { readWholeBody, type WholeBody, type WholeBodyOptions, type WholeBodyProblem } from './whole-body.ts'

type Done = (body: CallBody | WholeBodyProblem) => void

/**
 * Reads what has to be known of a call's body before the call goes on. Calls back exactly once: in this turn
 * when nothing has to be read. `gone`: the client left. With a problem, no room is held.
 *
 * @param response closed when the client leaves.
 */
export function readCallBody(
  request: IncomingMessage,
  response: ServerResponse,
  reading: ReadableBody,
  options: WholeBodyOptions,
  clientId: string,
  done: Done,
): void {
  switch (reading.kind) {
    case 'unread':
      done(UNREAD_BODY)
      return
    case 'form':
      readFormStart(request, reading.boundary, (form) =>
        done(form === null ? 'gone' : { ...UNREAD_BODY, form, scan: form.scan }),
      )
      return
    case 'whole':
      readWholeBody(request, response, reading.codings, options, clientId, (body) => {
        if (typeof body === 'string') done(body)
        else scanWhole(body, response, clientId, done)
      })
      return
    default:
      reading satisfies never
  }
}

function scanWhole(body: WholeBody, response: ServerResponse, clientId: string, done: Done): void {
  if (body.plain.length <= WHOLE_BYTES) {
    done(scanned(body, scanRequestBody(body.plain)))
    return
  }
  const isWanted = () => !response.destroyed
  scanInSlices(clientId, body.plain, isWanted, (scan) => {
    if (scan !== null) {
      done(scanned(body, scan))
      return
    }
    body.room?.release()
    done('gone')
  })
}

function scanned({ sent, plain, room }: WholeBody, scan: RequestScan): CallBody {
  return { sent, plain, room, scan, form: null, isEdited: false, fields: null }
}
