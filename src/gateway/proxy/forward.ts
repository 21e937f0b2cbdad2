import type { IncomingMessage, ServerResponse } from 'node:http'
import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { writeError } from '../../http/answer-error.ts'
import type { CallRefusal } from '../../http/errors.ts'
import { WHOLE_BYTES } from '../../lib/sliced-work.ts'
import type { Admission, AdmissionOptions, Moment } from '../admission/admission.ts'
import { admit, countRefusal } from '../admission/admit.ts'
import { admissionOf } from '../admission/http-hooks.ts'
import { buildOpenCall, openCall } from '../admission/open-call.ts'
import { type CallBody, type ReadableBody, UNREAD_BODY } from '../bodies/body-reading.ts'
import { type RequestScan, scanInSlices, scanRequestBody, type Wanted } from '../bodies/request-body.ts'
import {
  readBody,
  readWholeBody,
  type WholeBody,
  type WholeBodyOptions,
  type WholeBodyProblem,
} from '../bodies/whole-body.ts'
import { readFormStart } from '../forms/form-upload.ts'
import { type DispatchOptions, dispatch } from './dispatch.ts'
import { prepareBody } from './prepare-body.ts'
import { RoutedCall } from './routed/routed-call.ts'

const REFUSALS_OF_BODIES = {
  too_large: { error: 'body_too_large' },
  busy: { error: 'overloaded' },
  slow: { error: 'request_timeout' },
  undecodable: { error: 'unsupported_encoding' },
} as const satisfies Readonly<Record<Exclude<WholeBodyProblem, 'gone'>, CallRefusal>>

export interface ForwardOptions extends DispatchOptions, WholeBodyOptions {
  readonly admission: AdmissionOptions
  /** Methods that the router knows, all of which go upstream. */
  readonly methods: readonly string[]
}

/** One step of a call, once the step before has been made. */
type Step = (options: ForwardOptions, admission: Admission, response: ServerResponse) => void

/** Everything that is not the gateway's own goes upstream, whatever its method. */
export function forward(app: FastifyInstance, options: ForwardOptions): void {
  app.register(httpProxy, {
    // The library owns the routes. The bytes are ours from there on: they have to stay untouched, be counted,
    // and stop when their client leaves.
    prefix: options.admission.config.basePath,
    upstream: 'http://upstream.invalid',
    proxyPayloads: false,
    httpMethods: [...options.methods],
    // Not as its `handler`: that one is called behind a reading of the URL that costs more than all stages, and
    // judges it again. `readTarget` has refused whatever leaves its base by then.
    preHandler: (request: FastifyRequest, reply: FastifyReply, _next: unknown) => {
      reply.hijack()
      pass('head', readOn, options, admissionOf(request), reply.raw)
    },
  })
}

/**
 * Runs the stages of `moment`, then `next` unless one of them refuses; in this turn unless one has to wait.
 */
function pass(
  moment: Moment,
  next: Step,
  options: ForwardOptions,
  admission: Admission,
  response: ServerResponse,
): void {
  const refusal = admit(moment, admission, options.admission)
  if (!(refusal instanceof Promise)) proceed(refusal, next, options, admission, response)
  else void refusal.then((found) => proceed(found, next, options, admission, response))
}

function proceed(
  refusal: CallRefusal | null,
  next: Step,
  options: ForwardOptions,
  admission: Admission,
  response: ServerResponse,
): void {
  if (refusal !== null) refuse(refusal, options, admission, response)
  else if (response.destroyed) admission.release()
  else next(options, admission, response)
}

const readOn: Step = (options, admission, response) => {
  const { request, bodyReading } = admission
  readCallBody(request, response, bodyReading, options, holderOf(admission), (body) => {
    if (typeof body !== 'string') {
      admission.body = body
      if (body.room !== null) admission.hold(body.room)
      pass('model', open, options, admission, response)
    } else if (body === 'gone') {
      admission.release()
    } else {
      refuse(REFUSALS_OF_BODIES[body], options, admission, response)
    }
  })
}

/** Whose part of the room for bodies it is: another than the client's own, as long as a body has to prove whose it is. */
function holderOf({ caller, signature }: Admission): string {
  return signature?.isProven === false ? `unproven ${caller.clientId}` : caller.clientId
}

const open: Step = (options, admission, response) => {
  beginSpan(admission, options)
  if (admission.route.choice !== null) {
    const call = new RoutedCall(options, admission, response)
    call.start((refusal) => {
      if (refusal === 'gone') endUnsent(admission)
      else refuse(refusal, options, admission, response)
    })
    return
  }
  prepareBody(admission, (body) => {
    if (body === 'gone') {
      endUnsent(admission)
      return
    }
    admission.body = body
    const call = buildOpenCall(admission, options.admission.now())
    openCall(call, response, options.services, (refusal) => {
      if (refusal === null) dispatch(options, admission, response, call)
      else if (refusal === 'gone') endUnsent(admission)
      else refuse(refusal, options, admission, response)
    })
  })
}

function endUnsent(admission: Admission): void {
  admission.span?.refused(null)
  admission.release()
}

function beginSpan(admission: Admission, { services }: ForwardOptions): void {
  if (services.tracer === undefined) return
  const { method, arrivedAt } = admission
  admission.span ??= services.tracer.begin({ method, arrivedAt, headers: admission.request.headers })
}

function refuse(
  refusal: CallRefusal,
  options: ForwardOptions,
  admission: Admission,
  response: ServerResponse,
): void {
  beginSpan(admission, options)
  admission.span?.refused(refusal.error)
  admission.release()
  countRefusal(refusal, admission, options.admission)
  writeError(response, admission.errorShape, refusal.error, refusal.detail)
}

type Done = (body: CallBody | WholeBodyProblem) => void

/**
 * Reads what has to be known of a call's body before the call goes on. Calls back exactly once: in this turn
 * when nothing has to be read. `gone`: the client left. With a problem, no room is held.
 *
 * @param response closed when the client leaves.
 */
function readCallBody(
  request: IncomingMessage,
  response: ServerResponse,
  reading: ReadableBody,
  options: ForwardOptions,
  clientId: string,
  done: Done,
): void {
  switch (reading.kind) {
    case 'unread':
      done(UNREAD_BODY)
      return
    case 'form':
      readFormStart(request, reading, options.admission.upstreams.routes !== null, (form) =>
        done(form === null ? 'gone' : { ...UNREAD_BODY, form, scan: form.scan }),
      )
      return
    case 'whole':
      readWholeBody(request, response, reading.codings, options, clientId, (body) => {
        if (typeof body === 'string') done(body)
        else scanWhole(body, response, clientId, options.admission.config.axes?.members ?? null, done)
      })
      return
    case 'held':
      readBody(request, options.bodyLimitBytes, options.bodyBudget, clientId, (sent, room) =>
        done(typeof sent === 'string' ? sent : { ...UNREAD_BODY, sent, room }),
      )
      return
    default:
      reading satisfies never
  }
}

function scanWhole(
  body: WholeBody,
  response: ServerResponse,
  clientId: string,
  wanted: Wanted,
  done: Done,
): void {
  if (body.plain.length <= WHOLE_BYTES) {
    done(scanned(body, scanRequestBody(body.plain, wanted)))
    return
  }
  const isWanted = () => !response.destroyed
  const onScan = (scan: RequestScan | null) => {
    if (scan !== null) {
      done(scanned(body, scan))
      return
    }
    body.room?.release()
    done('gone')
  }
  scanInSlices(clientId, body.plain, isWanted, onScan, wanted)
}

function scanned({ sent, plain, room }: WholeBody, scan: RequestScan): CallBody {
  return { sent, plain, room, scan, form: null, isEdited: false, asksForUsage: false, fields: null }
}
