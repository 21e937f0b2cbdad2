import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Dialect } from '../dialects/dialect.ts'
import { cleanModel, cleanPath } from '../domain/build-call-record.ts'
import { newCallId } from '../domain/call-id.ts'
import type { OpenCall } from '../domain/call-record.ts'
import type { Caller } from '../domain/caller.ts'
import type { ErrorDetail, ErrorName } from '../errors.ts'
import { errorShapeOf, sendError, writeError } from './answer-error.ts'
import { type CallTarget, readCallTarget } from './call-target.ts'
import { limitSilenceOfUpload } from './client-silence.ts'
import { forwardableRequestHeaders } from './headers.ts'
import { spliceIncludeUsage } from './include-usage.ts'
import { mayUseModel } from './may-use-model.ts'
import type { PathPolicy } from './path-policy.ts'
import { ProxiedCall, type ProxiedCallParts } from './proxied-call.ts'
import { type RequestScan, scanRequestBody } from './request-body.ts'
import { type BodyBudget, type BodyProblem, readBody } from './request-stream.ts'
import { type Route, routeCall } from './route.ts'
import type { UpstreamTable } from './upstream-table.ts'

/** Bodies up to this are kept until the answer has ended, in case the prompt's tokens have to be estimated. */
const KEPT_BODY_BYTES = 32 * 1024 * 1024

const MISSPELT_PREFIX = { message: 'Write the path prefix of the upstream as it is configured.' }

export interface ForwardOptions extends ProxiedCallParts {
  readonly basePath: string
  readonly upstreams: UpstreamTable
  readonly pathPolicy: PathPolicy
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
      const target = readCallTarget(request.keylessUrl, options.basePath)
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
    const readsBody = hasBody && this.#mustReadBody(route)
    // Where a model in the body still chooses the upstream, its rules are looked at once it is known.
    if (!(readsBody && route.needsModel) && !this.#permits(route, hasBody)) {
      this.#refuse(response, 'path_not_allowed')
      return
    }
    if (!readsBody) {
      if (!mayUseModel(this.#caller, route, null)) {
        this.#refuse(response, 'model_not_allowed')
        return
      }
      this.#send(response, route, null, null)
      return
    }
    const { bodyLimitBytes, bodyBudget } = this.#options
    readBody(this.#request, bodyLimitBytes, bodyBudget, this.#caller.clientId, (body) => {
      if (typeof body === 'string') this.#refuseBody(response, body)
      else this.#sendRead(response, route, body)
    })
  }

  #permits(route: Route, hasBody: boolean): boolean {
    return this.#options.pathPolicy.permits(this.#caller, this.#request.method ?? 'GET', hasBody, route)
  }

  /** Whether the body has to be known before the call goes on: to route it, to check its model, to ask for its usage. */
  #mustReadBody(route: Route): boolean {
    const { headers } = this.#request
    const encoding = headers['content-encoding']
    if (encoding !== undefined && encoding !== 'identity') return false
    const type = headers['content-type'] ?? ''
    if (type.startsWith('multipart/')) return false
    if (route.dialect?.readsRequest === true) return true
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(type)
    return isJson && (route.needsModel || this.#caller.models !== null)
  }

  #sendRead(response: ServerResponse, first: Route, body: Buffer): void {
    const scan = scanRequestBody(body)
    const route = first.needsModel ? first.withModel(scan.model) : first
    if (first.needsModel && !this.#permits(route, true)) {
      this.#letGo(body.length)
      this.#refuse(response, 'path_not_allowed')
      return
    }
    if (!mayUseModel(this.#caller, route, scan)) {
      this.#letGo(body.length)
      this.#refuse(response, 'model_not_allowed')
      return
    }
    this.#send(response, route, body, scan)
  }

  #send(response: ServerResponse, route: Route, body: Buffer | null, scan: RequestScan | null): void {
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
    const asks =
      scan !== null && body !== null && dialect !== null && asksForUsage(upstream.includeUsage, dialect)
    const spliced = asks ? spliceIncludeUsage(body, scan) : null
    const heldBytes = body?.length ?? 0
    const keptBody = body !== null && body.length <= KEPT_BODY_BYTES ? body : null
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
        },
        arrivedAt: this.#arrivedAt,
        dialect,
        stripUsageEvent: spliced !== null,
        requestBody: keptBody,
        requestBytes: body?.length ?? announcedBytes(this.#request),
      },
      response,
      (failed, code) =>
        writeError(failed, dialect?.errorShape ?? errorShapeOf(route.target.canonicalPath), code, open),
      () => this.#letGo(heldBytes),
    )
    let clientLeft = false
    response.on('close', () => {
      clientLeft = true
      if (!response.writableFinished) call.clientLeft()
    })
    ledger.open(open, (error) => {
      if (error !== null) {
        this.#letGo(heldBytes)
        this.#refuse(response, 'metering_unavailable')
        return
      }
      if (clientLeft) {
        // It left before a byte went upstream: nothing happened that could be counted.
        ledger.discard(open.callId)
        this.#letGo(heldBytes)
        return
      }
      observer.callStarted(open)
      this.#dispatch(call, route, spliced ?? body)
    })
  }

  /** A body that was read is not held any more. */
  #letGo(bytes: number): void {
    this.#options.bodyBudget.give(this.#caller.clientId, bytes)
  }

  #dispatch(call: ProxiedCall, route: Route, body: Buffer | null): void {
    const { upstream, dialect } = route
    const headers = forwardableRequestHeaders(this.#request.rawHeaders, {
      host: upstream.host,
      // Whoever answers TRACE sends back what was sent (RFC 9110, 9.3.8).
      credential: this.#request.method === 'TRACE' ? null : upstream.credential,
      askIdentity: dialect !== null,
      contentLength: body === null ? null : body.length,
    })
    try {
      upstream.pool.dispatch(
        {
          path: upstream.basePath + route.target.pathAndQuery,
          method: (this.#request.method ?? 'GET') as 'GET',
          headers,
          body: body ?? streamedBody(this.#request),
        },
        call,
      )
    } catch (error) {
      call.onResponseError(null, error instanceof Error ? error : new Error(String(error)))
    }
  }

  #refuseBody(response: ServerResponse, problem: BodyProblem): void {
    if (problem === 'gone') return
    this.#refuse(response, problem === 'too_large' ? 'body_too_large' : 'overloaded')
  }

  #refuse(response: ServerResponse, code: ErrorName, detail: ErrorDetail = {}): void {
    writeError(response, errorShapeOf(this.#target.canonicalPath), code, detail)
  }
}

function asksForUsage(setting: 'auto' | 'always' | 'never', dialect: Dialect): boolean {
  if (setting === 'auto') return dialect.takesIncludeUsage
  return setting === 'always' && /chat-completions|completions/.test(dialect.name)
}

/** Whether the request has a body; an announced length of 0 is none. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) !== 0)
}

/** What the client says of its body's length; `null`: there is none, or it comes in chunks. */
function announcedBytes({ headers }: IncomingMessage): number | null {
  const length = headers['content-length']
  return length === undefined ? null : Number(length)
}

/** A body that goes upstream as it comes; apart from the request's own stream, so that an upstream's end does not take the client's connection with it. */
function streamedBody(request: IncomingMessage): Readable | null {
  if (!announcesBody(request)) return null
  const body = new PassThrough()
  limitSilenceOfUpload(request, () => !body.writableNeedDrain)
  request.on('close', () => {
    if (!request.complete) body.destroy(new Error('client left'))
  })
  return request.pipe(body)
}
