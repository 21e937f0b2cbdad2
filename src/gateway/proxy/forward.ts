import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { cleanModel, cleanPath } from '../../call/build-call-record.ts'
import { newCallId } from '../../call/call-id.ts'
import type { OpenCall } from '../../call/call-record.ts'
import type { Caller } from '../../call/caller.ts'
import { errorShapeOf, sendError, writeError } from '../../http/answer-error.ts'
import type { ErrorDetail, ErrorName } from '../../http/errors.ts'
import { inPieces, joinInSlices, WHOLE_BYTES } from '../../lib/sliced-work.ts'
import { notFoundBody } from '../../objects/not-found.ts'
import type { Objects, Verdict } from '../../objects/objects.ts'
import type { PathPolicy } from '../admission/path-policy.ts'
import { mayUseModel } from '../admission/stages/model-access.ts'
import type { BodyBudget, BodyRoom } from '../bodies/body-budget.ts'
import { howToRead, UNREAD } from '../bodies/body-reading.ts'
import { type CallBody, editedBody, UNREAD_BODY } from '../bodies/call-body.ts'
import { type RequestScan, scanInSlices, scanRequestBody } from '../bodies/request-body.ts'
import { readRequestFields } from '../bodies/request-fields.ts'
import { readWholeBody, type WholeBody, type WholeBodyProblem } from '../bodies/whole-body.ts'
import { namesModelAsForm } from '../forms/form-doubt.ts'
import { type FormUpload, readFormStart } from '../forms/form-upload.ts'
import { announcesBody, streamedBody } from '../forms/upload.ts'
import { type CallTarget, readCallTarget } from '../routing/call-target.ts'
import { type Route, routeCall, routeToModel } from '../routing/route.ts'
import type { UpstreamTable } from '../routing/upstream-table.ts'
import { askUpstream } from './ask-upstream.ts'
import { forwardableRequestHeaders } from './headers.ts'
import { spliceIncludeUsage } from './include-usage.ts'
import { ProxiedCall, type ProxiedCallOptions } from './proxied-call.ts'

/** Bodies up to this are kept until the answer has ended, in case the prompt's tokens have to be estimated. */
const KEPT_BODY_BYTES = 32 * 1024 * 1024

const MISSPELT_PREFIX = { message: 'Write the path prefix of the upstream as it is configured.' }

const REFUSAL_OF_BODY = {
  too_large: 'body_too_large',
  busy: 'overloaded',
  slow: 'request_timeout',
  undecodable: 'unsupported_encoding',
} as const satisfies Readonly<Record<Exclude<WholeBodyProblem, 'gone'>, ErrorName>>

const MODEL_BEHIND_FILE = { param: 'model', message: 'Send model before file: the call depends on it.' }

export interface ForwardOptions extends ProxiedCallOptions {
  readonly basePath: string
  readonly upstreams: UpstreamTable
  readonly pathPolicy: PathPolicy
  readonly objects: Objects
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
  /** Methods that the router knows, all of which go upstream. */
  readonly methods: readonly string[]
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

/** Everything that is not the gateway's own goes upstream, whatever its method. */
export function forward(app: FastifyInstance, options: ForwardOptions): void {
  app.register(httpProxy, {
    // The library owns the routes; the bytes are ours from there on, because they have to be untouched, counted, and stopped when
    // their client leaves.
    prefix: options.basePath,
    upstream: 'http://upstream.invalid',
    proxyPayloads: false,
    httpMethods: [...options.methods],
    handler: (request: FastifyRequest, reply: FastifyReply) => {
      // `OPTIONS *` and other targets that are about this server have nothing to append to an upstream's address.
      const target = readCallTarget(request.urlWithoutKey, options.basePath)
      if (typeof target === 'string') {
        sendError(reply, target)
        return
      }
      reply.hijack()
      const call = new IncomingCall(options, request, target)
      call.start(reply.raw)
    },
  })
}

/** A call from the moment its caller is known until its bytes are on their way. */
class IncomingCall {
  readonly #options: ForwardOptions
  readonly #request: IncomingMessage
  readonly #caller: Caller
  readonly #target: CallTarget
  readonly #arrivedAt = performance.now()
  readonly #arrivedAtMs: number
  #room: BodyRoom | null = null

  constructor(options: ForwardOptions, request: FastifyRequest, target: CallTarget) {
    if (request.caller === null) throw new Error('a call reached the proxy without a caller')
    this.#options = options
    this.#request = request.raw
    this.#caller = request.caller
    this.#arrivedAtMs = options.now()
    this.#target = target
  }

  start(response: ServerResponse): void {
    if (!this.#options.ledger.canTakeCalls) {
      this.#refuse(response, 'metering_unavailable')
      return
    }
    const method = this.#request.method ?? 'GET'
    const hasBody = announcesBody(this.#request)
    const route = routeCall(this.#options.upstreams, { method, hasBody, webSocket: false }, this.#target)
    if (route === null) {
      this.#refuse(response, 'invalid_request', MISSPELT_PREFIX)
      return
    }
    const reading = hasBody
      ? howToRead(this.#request.headers, route.dialect, this.#modelDecides(route), this.#namesObjects(route))
      : UNREAD
    // Where a model in the body still chooses the upstream, its rules are looked at once it is known.
    if (!(reading !== UNREAD && route.needsModel) && !this.#permits(route, hasBody)) {
      this.#refuse(response, 'path_not_allowed')
      return
    }
    switch (reading.kind) {
      case 'unread':
        this.#sendUnread(response, route)
        return
      case 'unsupported':
        this.#refuse(response, 'unsupported_encoding')
        return
      case 'form':
        readFormStart(this.#request, reading.boundary, (form) => {
          if (form !== null) this.#sendForm(response, route, form)
        })
        return
      case 'whole':
        readWholeBody(
          this.#request,
          response,
          reading.codings,
          this.#options,
          this.#caller.clientId,
          (body) => {
            if (typeof body === 'string') {
              this.#refuseBody(response, body)
              return
            }
            this.#room = body.room
            this.#sendRead(response, route, body)
          },
        )
        return
      default:
        reading satisfies never
    }
  }

  #permits(route: Route, hasBody: boolean): boolean {
    return this.#options.pathPolicy.permits(this.#caller, this.#request.method ?? 'GET', hasBody, route)
  }

  /** Whether the call may be made, or where it goes, depends on the model that its body names. */
  #modelDecides(route: Route): boolean {
    return route.needsModel || this.#caller.models !== null
  }

  #routeTo(first: Route, { model }: RequestScan): Route {
    if (!first.needsModel) return first
    const shape = { method: this.#request.method ?? 'GET', hasBody: true, webSocket: false }
    return routeToModel(this.#options.upstreams, shape, first.target, model)
  }

  /** Whether its body may name objects, which are not everybody's. */
  #namesObjects({ upstream, target }: Route): boolean {
    const type = this.#request.headers['content-type'] ?? ''
    return this.#options.objects.readsBody(upstream, target.canonicalPath, type)
  }

  /** Why a call may not be made whose body was read, and whose `route` may have come of it. */
  #refusalOf(first: Route, route: Route, scan: RequestScan): ErrorName | null {
    if (first.needsModel && !this.#permits(route, true)) return 'path_not_allowed'
    return mayUseModel(this.#caller, route, scan) ? null : 'model_not_allowed'
  }

  /** As {@link #refusalOf}, for a body that is read as JSON. */
  #refusalOfRead(first: Route, route: Route, scan: RequestScan, body: Buffer): ErrorName | null {
    const refusal = this.#refusalOf(first, route, scan)
    if (refusal !== null || this.#caller.models === null) return refusal
    return namesModelAsForm(this.#request.headers['content-type'], body) ? 'model_not_allowed' : null
  }

  #sendUnread(response: ServerResponse, route: Route): void {
    if (!mayUseModel(this.#caller, route, null)) {
      this.#refuse(response, 'model_not_allowed')
      return
    }
    this.#send(response, route, UNREAD_BODY, null)
  }

  #sendForm(response: ServerResponse, first: Route, form: FormUpload): void {
    const { scan } = form
    const modelDecides = this.#modelDecides(first)
    if (modelDecides && first.modelInPath === null && form.modelMayFollow) {
      this.#refuse(response, 'invalid_request', MODEL_BEHIND_FILE)
      return
    }
    const route = this.#routeTo(first, scan)
    const refusal = this.#refusalOf(first, route, scan)
    if (refusal !== null) {
      this.#refuse(response, refusal)
      return
    }
    this.#send(response, route, { ...UNREAD_BODY, form, modelDecided: modelDecides }, scan)
  }

  #sendRead(response: ServerResponse, first: Route, body: WholeBody): void {
    if (body.plain.length <= WHOLE_BYTES) {
      this.#sendScanned(response, first, body, scanRequestBody(body.plain))
      return
    }
    const isWanted = () => !response.destroyed
    scanInSlices(this.#caller.clientId, body.plain, isWanted, (scan) => {
      // Whoever left before a byte went upstream made no call.
      if (scan === null) this.#releaseBody()
      else this.#sendScanned(response, first, body, scan)
    })
  }

  #sendScanned(response: ServerResponse, first: Route, body: WholeBody, scan: RequestScan): void {
    const route = this.#routeTo(first, scan)
    const refusal = this.#refusalOfRead(first, route, scan, body.plain)
    if (refusal !== null) {
      this.#releaseBody()
      this.#refuse(response, refusal)
      return
    }
    const { sent, plain } = body
    const parts = asksForUsage(route) ? spliceIncludeUsage(plain, scan) : null
    if (parts === null) {
      this.#sendWithFields(response, route, { ...UNREAD_BODY, sent, plain }, scan)
    } else if (plain.length <= WHOLE_BYTES) {
      this.#send(response, route, editedBody(Buffer.concat(parts)), scan)
    } else {
      joinInSlices(this.#caller.clientId, parts, (edited) => {
        if (response.destroyed) this.#releaseBody()
        else this.#send(response, route, editedBody(edited), scan)
      })
    }
  }

  /** Sends the call once what its dialect wants to know of the body is read: of most calls nothing. */
  #sendWithFields(response: ServerResponse, route: Route, body: CallBody, scan: RequestScan): void {
    const projection = route.dialect?.requestProjection
    if (projection === undefined || body.plain === null || !scan.readable) {
      this.#send(response, route, body, scan)
      return
    }
    const isWanted = () => !response.destroyed
    readRequestFields(this.#caller.clientId, body.plain, projection, isWanted, (fields) => {
      if (fields === 'gone') this.#releaseBody()
      else this.#send(response, route, { ...body, fields }, scan)
    })
  }

  /** Sends the call unless it is about an object that is another client's. */
  #send(response: ServerResponse, route: Route, body: CallBody, scan: RequestScan | null): void {
    const { upstream } = route
    const { canonicalPath, pathAndQuery } = route.target
    const method = this.#request.method ?? 'GET'
    const { clientId } = this.#caller
    const { objects } = this.#options
    const verdict = objects.judge(upstream, method, canonicalPath, pathAndQuery, clientId, body.plain)
    if (verdict === 'pass') {
      this.#sendJudged(response, route, body, scan)
      return
    }
    const onVerdict = (found: Verdict) => {
      if (found === 'pass' && !response.destroyed) {
        this.#sendJudged(response, route, body, scan)
        return
      }
      this.#releaseBody()
      if (found === 'hidden')
        this.#refuse(response, 'not_found', { body: notFoundBody(upstream.provider, canonicalPath) })
      else this.#refuse(response, found === 'unavailable' ? 'storage_unavailable' : 'invalid_request')
    }
    if (typeof verdict === 'string') onVerdict(verdict)
    else void verdict.then(onVerdict, () => onVerdict('unavailable'))
  }

  #sendJudged(response: ServerResponse, route: Route, body: CallBody, scan: RequestScan | null): void {
    const { ledger, observer, now } = this.#options
    const { upstream, dialect } = route
    const method = this.#request.method ?? 'GET'
    const requestedModel = cleanModel(route.modelInPath ?? scan?.model ?? null)
    const open: OpenCall = {
      callId: newCallId(now()),
      arrivedAtMs: this.#arrivedAtMs,
      clientId: this.#caller.clientId,
      keyId: this.#caller.keyId,
      upstream: upstream.name,
      provider: upstream.provider,
      method,
      path: cleanPath(route.target.path),
      requestedModel,
      webSocket: false,
    }
    const { plain } = body
    const call = new ProxiedCall(
      this.#options,
      {
        call: open,
        clientName: this.#caller.clientName,
        request: {
          method,
          path: route.target.canonicalPath,
          model: requestedModel,
          stream: scan?.stream ?? null,
          fields: body.fields,
        },
        arrivedAt: this.#arrivedAt,
        dialect,
        stripUsageEvent: body.isEdited,
        requestBody: plain !== null && plain.length <= KEPT_BODY_BYTES ? plain : null,
        requestBytes: plain?.length ?? 0,
      },
      response,
      (failed, code) =>
        writeError(failed, dialect?.errorShape ?? errorShapeOf(route.target.canonicalPath), code, open),
      () => this.#releaseBody(),
    )
    let clientLeft = false
    response.on('close', () => {
      clientLeft = true
      if (!response.writableFinished) call.clientLeft()
    })
    ledger.open(open, (error) => {
      if (error !== null) {
        this.#releaseBody()
        this.#refuse(response, 'metering_unavailable')
        return
      }
      if (clientLeft) {
        // It left before a byte went upstream: nothing happened that could be counted.
        ledger.discard(open.callId)
        this.#releaseBody()
        return
      }
      observer.callStarted(open)
      this.#dispatch(call, route, body)
    })
  }

  /** A body that was read is not held any more. */
  #releaseBody(): void {
    this.#room?.release()
  }

  #dispatch(call: ProxiedCall, route: Route, body: CallBody): void {
    const { upstream, dialect } = route
    const method = this.#request.method ?? 'GET'
    const { canonicalPath, pathAndQuery } = route.target
    const { objects } = this.#options
    const handler = objects.concerns(method, canonicalPath, body.plain)
      ? objects.watch(call, {
          callId: call.callId,
          owner: this.#caller,
          upstream,
          method,
          canonicalPath,
          pathAndQuery,
          body: body.plain,
          fetchPage: (next) => askUpstream(upstream, headers, next),
        })
      : call
    const headers = forwardableRequestHeaders(this.#request.rawHeaders, {
      host: upstream.host,
      // Whoever answers TRACE sends back what was sent (RFC 9110, 9.3.8).
      credential: this.#request.method === 'TRACE' ? null : upstream.credential,
      // What nobody knows is not changed for the sake of being read.
      askIdentity: (dialect !== null && dialect.isGeneric !== true) || handler !== call,
      contentLength: body.sent?.length ?? null,
      isPlain: body.isEdited,
    })
    try {
      upstream.pool.dispatch(
        {
          path: upstream.basePath + route.target.pathAndQuery,
          method: method as 'GET',
          headers,
          body: body.sent === null ? this.#streamedBody(call, route, body) : sentBody(body.sent),
        },
        handler,
      )
    } catch (error) {
      call.onResponseError(null, error instanceof Error ? error : new Error(String(error)))
    }
  }

  #streamedBody(call: ProxiedCall, route: Route, { form, modelDecided }: CallBody): Readable | null {
    if (form === null) return streamedBody(this.#request)
    return form.body((model) => {
      call.nameModel(cleanModel(route.modelInPath ?? model))
      return !modelDecided
    })
  }

  #refuseBody(response: ServerResponse, problem: WholeBodyProblem): void {
    if (problem !== 'gone') this.#refuse(response, REFUSAL_OF_BODY[problem])
  }

  #refuse(response: ServerResponse, code: ErrorName, detail: ErrorDetail = {}): void {
    writeError(response, errorShapeOf(this.#target.canonicalPath), code, detail)
  }
}

function asksForUsage({ upstream, dialect }: Route): boolean {
  if (dialect === null) return false
  if (upstream.includeUsage === 'auto') return dialect.takesIncludeUsage
  return upstream.includeUsage === 'always' && dialect.knowsStreamOptions === true
}

/** A body that was read, on its way upstream. */
function sentBody(body: Buffer): Buffer | Readable {
  return body.length <= WHOLE_BYTES ? body : inPieces(body)
}
