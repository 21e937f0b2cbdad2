import { type IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { OpenCall } from '../../call/call-record.ts'
import type { AnswerController } from '../../http/client/answer-handler.ts'
import { destroyAfterGrace } from '../../http/socket-timeouts.ts'
import { readingOf } from '../../providers/reading.ts'
import type { Admission } from '../admission/admission.ts'
import type { CallServices } from '../proxy/exchange.ts'
import { Exchange } from '../proxy/exchange.ts'
import { addressMapper } from '../proxy/own-addresses.ts'

const PLAIN_GET = { method: 'GET', hasBody: false, webSocket: false }

export interface RejectedHandshake {
  readonly call: OpenCall
  readonly admission: Admission
  readonly client: Duplex
  /** The upstream's answer, whose status is not 101. */
  readonly answer: IncomingMessage
}

/**
 * Passes on an answer that accepts no session. An upstream that ignores `Upgrade` saw a GET, and may answer
 * it with a response and its usage. So the call is read, priced and recorded as that GET.
 */
export function relayRejection(services: CallServices, rejected: RejectedHandshake, onEnd: () => void): void {
  const { client, answer, admission } = rejected
  const call: OpenCall = { ...rejected.call, webSocket: false }
  const { upstream, target } = admission.route
  const path = target.canonicalPath
  const { dialect } = readingOf(upstream.provider, PLAIN_GET, path)
  const response = new ServerResponse(admission.request)
  const exchange = new Exchange(services, {
    call,
    request: { method: 'GET', path, model: call.requestedModel, stream: null },
    client: admission.caller,
    arrivedAt: admission.arrivedAt,
    dialect,
    requestBody: null,
    requestBytes: 0,
    upperUse: null,
    response,
    stripUsageEvent: false,
    limits: admission.limits,
    errorShape: () => admission.errorShape,
    ownsOrigins: upstream.ownsOrigins,
    hasOurCredential: upstream.credential !== null,
    rates: admission.rates,
    mapAddress: addressMapper(upstream, admission.request),
    onEnd,
  })
  // The server's parser has released the connection, so it cannot carry another request.
  response.shouldKeepAlive = false
  if (client instanceof Socket) response.assignSocket(client)
  client.on('drain', () => response.emit('drain'))
  response.on('finish', () => client.end(() => destroyAfterGrace(client)))
  // A server does the same for a client that ends its side before it has its answer.
  client.on('end', () => {
    if (!response.writableFinished) client.destroy()
  })
  client.on('close', () => {
    if (!response.writableFinished) exchange.clientLeft()
  })
  relayAnswer(answer, exchange)
}

/** Calls the handler of the call as the client of calls would. */
function relayAnswer(answer: IncomingMessage, call: Exchange): void {
  const controller: AnswerController = {
    aborted: false,
    paused: false,
    reason: null,
    rawHeaders: answer.rawHeaders,
    pause: () => answer.pause(),
    resume: () => answer.resume(),
    abort(reason) {
      answer.destroy()
      call.onResponseError(controller, reason)
    },
  }
  call.onRequestStart(controller)
  call.onResponseStart(controller, answer.statusCode ?? 502, answer.headers, answer.statusMessage ?? '')
  answer.on('data', (chunk: Buffer) => call.onResponseData(controller, chunk))
  answer.on('error', () => {})
  answer.on('end', () => call.onResponseEnd(controller, null))
  // After the end of the answer, this changes nothing.
  answer.on('close', () => call.onResponseError(controller, new Error('the upstream broke off')))
}
