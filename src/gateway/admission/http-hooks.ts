import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendError } from '../../http/answer-error.ts'
import type { CallRefusal } from '../../http/errors.ts'
import { Admission, type AdmissionOptions, type Moment } from './admission.ts'
import { admit, countRefusal } from './admit.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Read it with {@link admissionOf}. */
    admission: Admission | null
  }
}

/** Runs the stages of `arrival` for every request to `app`, also one without a route. */
export function admitArrivals(app: FastifyInstance, options: AdmissionOptions): void {
  app.decorateRequest('admission', null)
  app.addHook('onRequest', (request, reply, done) => {
    request.admission = new Admission(request.raw, reply.raw, false, options.now())
    runStages('arrival', request, reply, options, done)
  })
}

/** Runs the stages of `caller` for every route of `app`: all of them need a key. */
export function admitCallers(app: FastifyInstance, options: AdmissionOptions): void {
  app.addHook('onRequest', (request, reply, done) => runStages('caller', request, reply, options, done))
}

/** @throws For a request that did not pass {@link admitArrivals}. */
export function admissionOf({ admission }: FastifyRequest): Admission {
  if (admission === null) throw new Error('a request reached its route and passed no stage')
  return admission
}

function runStages(
  moment: Moment,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AdmissionOptions,
  done: () => void,
): void {
  const admission = admissionOf(request)
  const refusal = admit(moment, admission, options)
  if (refusal instanceof Promise)
    void refusal.then((found) => proceed(found, admission, options, reply, done))
  else proceed(refusal, admission, options, reply, done)
}

function proceed(
  refusal: CallRefusal | null,
  admission: Admission,
  options: AdmissionOptions,
  reply: FastifyReply,
  done: () => void,
): void {
  if (refusal === null) {
    done()
    return
  }
  countRefusal(refusal, admission, options)
  sendError(reply, refusal.error, refusal.detail, admission.errorShape)
}
