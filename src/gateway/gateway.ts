import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  METHODS,
  type RequestListener,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import { answerClientError, sendError } from '../http/answer-error.ts'
import { connectionsOf } from '../http/connection-drainer.ts'
import { allowOrigins } from '../http/cors.ts'
import { DirectRequest } from '../http/direct-request.ts'
import { ALPN_PROTOCOLS, type Http2Front, serveHttp2 } from '../http/http2/serve-http2.ts'
import { health, NO_SCHEMAS, type Readiness } from '../http/listener.ts'
import type { AdmissionOptions } from './admission/admission.ts'
import { admitArrivals, admitCallers } from './admission/http-hooks.ts'
import { type ForwardOptions, forward } from './proxy/forward.ts'
import { type LiteLlmOptions, liteLlm, liteLlmHealth } from './routes/litellm.ts'
import { type ModelsOptions, models } from './routes/models.ts'
import { type UsageOptions, usage } from './routes/usage.ts'
import { ownOperationUrl, shapeOfRequest } from './routing/call-target.ts'
import { acceptWebSockets, type WebSocketOptions, type WebSocketSessions } from './websocket/web-socket.ts'

const MAX_HEADER_BYTES = 64 * 1024
/** From the connection's first byte to the end of the headers. */
const HEADERS_TIMEOUT_MS = 60_000
const KEEP_ALIVE_TIMEOUT_MS = 72_000
/** A TLS handshake that takes longer is ended: no other limit applies until it is done. */
const HANDSHAKE_TIMEOUT_MS = 5_000

export interface GatewayOptions {
  readonly logger: NonNullable<FastifyServerOptions['loggerInstance']>
  /** `ca`: authorities of the certificates that clients may have; absent: they are asked for none. */
  readonly tls: { readonly cert: Buffer; readonly key: Buffer; readonly ca?: Buffer } | null
  /** Both doors admit calls by the same stages. */
  readonly admission: AdmissionOptions
  readonly listModels: ModelsOptions['listModels']
  readonly summariseUsage: UsageOptions['summarise']
  readonly listLimits: UsageOptions['listLimits']
  readonly findReceipt: UsageOptions['findReceipt']
  /** What LiteLLM's programs ask; absent: they are answered by upstreams, as all others. */
  readonly liteLlm?: LiteLlmOptions['answer'] | undefined
  readonly readiness: () => Readiness
  readonly forward: Omit<ForwardOptions, 'admission' | 'methods'>
  readonly webSockets: Omit<WebSocketOptions, 'admission'>
}

export interface Gateway {
  readonly app: FastifyInstance
  readonly webSockets: WebSocketSessions
  readonly http2: Http2Front
}

/**
 * The gateway's server, not yet listening. The router picks a request's route: health, one of the gateway's
 * own operations, or everything else, which goes upstream. Hooks run before the routes of their scope, so
 * that the order of lines here decides nothing. The order of a call's stages does, and stands in
 * `buildStages`.
 */
export function buildGateway(options: GatewayOptions): Gateway {
  const { admission } = options
  const { basePath } = admission.config
  const app = Fastify({
    schemaController: NO_SCHEMAS,
    loggerInstance: options.logger,
    // A line for each call costs a quarter of the call's CPU, and its URL may hold a key.
    logController: new LogController({ disableRequestLogging: true }),
    // A logger of each request's own would be made for every call, and no line of ours needs its id.
    childLoggerFactory: (logger) => logger,
    exposeHeadRoutes: true,
    // Calls that arrive while the last ones end are answered; then their connections are closed.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 4096, ignoreTrailingSlash: false, caseSensitive: true },
    rewriteUrl: (request) => ownOperationUrl(request.method, request.url ?? '/', admission.config),
    // Around all the rest: a page has to be able to read every refusal, too.
    serverFactory: (handler) =>
      createServer(options.tls, allowOrigins(handler, admission.config.corsOrigins)),
    frameworkErrors: (error, request, reply) => answerFrameworkError(error, request, reply),
    clientErrorHandler: (error, socket) => {
      if (!http2.takesOver(error, socket)) answerClientError(error, socket)
    },
  })
  const http2 = serveHttp2(app.server, KEEP_ALIVE_TIMEOUT_MS)

  // The router parses no bodies: the gateway's own operations have none, and `forward` reads those of calls.
  const methods = METHODS.filter((method) => method !== 'CONNECT')
  for (const method of methods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })

  app.setErrorHandler<FastifyError>((error, request, reply) => {
    answerFrameworkError(error, request, reply)
  })
  app.setNotFoundHandler((request, reply) => sendError(reply, 'not_found', {}, shapeOfRequest(request.raw)))
  admitArrivals(app, admission)

  for (const prefix of new Set(['', basePath])) health(app, prefix, options.readiness)
  const { liteLlm: compat } = options
  if (compat !== undefined) liteLlmHealth(app, basePath, options.readiness)
  app.register(async (keyed) => {
    admitCallers(keyed, admission)
    // What this gateway says itself; calls that go upstream are answered past Fastify.
    keyed.addHook('onSend', async (_request, reply) => void reply.header('cache-control', 'no-store'))
    models(keyed, { basePath, listModels: options.listModels })
    const storageFailed = (err: unknown) =>
      app.log.error({ event: 'usage.query_failed', err }, 'the usage summary could not be read')
    usage(keyed, {
      basePath,
      summarise: options.summariseUsage,
      listLimits: options.listLimits,
      findReceipt: options.findReceipt,
      now: admission.now,
      storageFailed,
    })
    if (compat !== undefined) liteLlm(keyed, { basePath, answer: compat, storageFailed })
    forward(keyed, { ...options.forward, admission, methods })
  })
  const webSockets = acceptWebSockets(app.server, { ...options.webSockets, admission })
  return { app, webSockets, http2 }
}

/** HTTPS where there is a certificate, with the same limits. */
function createServer(tls: GatewayOptions['tls'], handler: RequestListener): HttpServer {
  const limits = {
    IncomingMessage: DirectRequest,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // A slow upload is ended when it is idle for too long, not when it takes long.
    requestTimeout: 0,
    // Requests are smuggled by header names that only lenient parsers accept.
    insecureHTTPParser: false,
    // Node would answer without a body; the stage `checkHost` says what is wrong.
    requireHostHeader: false,
    // RFC 6455, 4.1: any other upgrade request is treated as the plain request it would be without the
    // header. So is one that does not wait for the answers before it, which its session would be written among.
    shouldUpgradeCallback: ({ method, headers, socket }: IncomingMessage) =>
      connectionsOf(server).get(socket)?.answers === 0 &&
      method === 'GET' &&
      headers.upgrade?.toLowerCase() === 'websocket' &&
      (headers['content-length'] ?? '0') === '0' &&
      headers['transfer-encoding'] === undefined,
  }
  const server: HttpServer =
    tls === null
      ? createHttpServer(limits, handler)
      : createHttpsServer(
          {
            ...limits,
            ...tls,
            handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
            ALPNProtocols: ALPN_PROTOCOLS,
            // Who has none, or another one, calls with a key: only the headers of a proxy need it.
            requestCert: tls.ca !== undefined,
            rejectUnauthorized: false,
          },
          handler,
        )
  connectionsOf(server)
  // RFC 9110, 10.1.1: an unknown expectation may be ignored; Node would answer 417 without a body.
  return server.on('checkExpectation', handler)
}

function answerFrameworkError(
  error: { readonly statusCode?: number },
  { raw }: { readonly raw: IncomingMessage },
  reply: Parameters<typeof sendError>[0],
): void {
  const status = error.statusCode ?? 500
  const shape = shapeOfRequest(raw)
  if (status >= 500) {
    reply.log.error({ event: 'request.failed', err: error }, 'a request failed in the gateway')
    sendError(reply, 'internal_error', {}, shape)
  } else if (status === 404) {
    sendError(reply, 'not_found', {}, shape)
  } else if (status === 413) {
    sendError(reply, 'body_too_large', {}, shape)
  } else {
    const isEmpty = raw.url === undefined || raw.url === ''
    const message = isEmpty ? 'The request is not valid.' : 'The path of the request is not a valid one.'
    sendError(reply, 'invalid_request', { message }, shape)
  }
}
