import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { AnswerHandler } from '#http-client/answer-handler.ts'
import { fetchWhole } from '#http-client/fetch-answer.ts'
import type { OpenCall } from '../../call/call-record.ts'
import { NOTHING_OBSERVED } from '../../call/observation.ts'
import { cleanModel } from '../../domain/clean-text.ts'
import { GatewayError } from '../../http/errors.ts'
import { inPieces, WHOLE_BYTES } from '../../lib/sliced-work.ts'
import { callHeaders, type ShownCall } from '../../litellm/compat/answer-headers.ts'
import { decodeList, MAX_LIST_BYTES } from '../../objects/lists/listed-answer.ts'
import type { Objects } from '../../objects/objects.ts'
import type { UsageReader } from '../../providers/dialect.ts'
import type { Admission, AdmissionOptions } from '../admission/admission.ts'
import { needsOneModel } from '../admission/stages/limits.ts'
import { refuseUpload } from '../admission/stages/objects.ts'
import { withUploadTicket } from '../admission/upload-ticket.ts'
import { NOTHING_ASKED } from '../bodies/asked-size.ts'
import { type CallBody, UNREAD_BODY } from '../bodies/body-reading.ts'
import { credentialOf, signatureFor, signsRequests } from '../credentials/fetched-credential.ts'
import { type FormUpload, streamedBody } from '../forms/form-upload.ts'
import { formBoundary } from '../forms/multipart-fields.ts'
import { guardUpload } from '../forms/upload-guard.ts'
import type { AttemptState } from '../recording/attempt-state.ts'
import type { Upstream } from '../routing/upstream-table.ts'
import type { AttemptSpan } from '../tracing/call-span.ts'
import { asksForComment } from './cost-comment.ts'
import type { CallServices } from './exchange.ts'
import { Exchange, type ExchangeContext } from './exchange.ts'
import { showsCostTo } from './headers/cost-headers.ts'
import { forwardableRequestHeaders, type HeaderOptions } from './headers/headers.ts'
import { repeatedHeadFields } from './headers/repeated-head.ts'
import { addressMapper, findAddressMembers, type MapAddress, mapMembers } from './own-addresses.ts'

/**
 * Bodies up to this are kept until the answer has ended, in case the prompt's tokens have to be estimated.
 */
const KEPT_BODY_BYTES = 32 * 1024 * 1024

const NONE: readonly never[] = []

const READS_NOTHING: UsageReader = {
  push() {},
  end: () => NOTHING_OBSERVED,
  peek: () => NOTHING_OBSERVED,
  revision: 0,
}

export interface DispatchOptions {
  readonly services: CallServices
  readonly objects: Objects
  readonly admission: Pick<AdmissionOptions, 'config' | 'costInAnswers' | 'limits' | 'now' | 'upstreams'>
}

/** The limit for one further page. The call that waits for it has limits of its own. */
const PAGE_TIMEOUT_MS = 10_000

/**
 * Asks the upstream for another page of a list, with the headers of the call that asked for the first page.
 *
 * @throws When the answer is not a 200 with a page that can be held.
 */
async function askUpstream(upstream: Upstream, headers: string[], pathAndQuery: string): Promise<Buffer> {
  const path = upstream.basePath + pathAndQuery
  const proven = [...headers, ...signatureFor(upstream, 'GET', path, null, headers)]
  const request = { method: 'GET', path, headers: proven, timeoutMs: PAGE_TIMEOUT_MS }
  const answer = await fetchWhole(upstream.pool, request, MAX_LIST_BYTES)
  if (answer.status !== 200) throw new Error(`a page of a list was answered with ${answer.status}`)
  return await decodeList(answer.body, answer.headers['content-encoding'])
}

/** What stands between one of several attempts and the answer that the client gets. */
export interface AttemptGate {
  /** What the answer's headers say of it, and what is recorded with it. */
  readonly state: AttemptState
  /** Gives who takes the answer in place of `handler`, the reader and deliverer of `exchange`. */
  stand(exchange: Exchange, handler: AnswerHandler, context: ExchangeContext): AnswerHandler
}

/**
 * Sends a call upstream that stands in the journal; from here on, `Exchange` brings it to its end.
 *
 * @param gate Of an attempt after which another may come. It hears itself of a client that leaves.
 */
export function dispatch(
  options: DispatchOptions,
  admission: Admission,
  response: ServerResponse,
  open: OpenCall,
  gate: AttemptGate | null = null,
): void {
  const { request, route, body, method } = admission
  const { upstream, dialect } = route
  const { keyPepper } = options.admission.config
  const mapAddress = addressMapper(upstream, request, (uploaded) =>
    withUploadTicket(uploaded, admission.key ?? '', { peppers: keyPepper, nowMs: admission.arrivedAtMs }),
  )
  const attemptSpan = admission.span?.attempt(open, upstream) ?? null
  const context = exchangeContext(options, admission, response, open, { mapAddress, gate, attemptSpan })
  const call = new Exchange(options.services, context)
  const addresses = findAddressMembers(upstream.provider, method, route.target.canonicalPath)
  const reader = mapMembers(call, addresses, mapAddress, admission.hasBody)
  // The call keeps what it needs of the body: the rest is free once it was sent.
  admission.body = UNREAD_BODY
  if (gate === null) {
    response.on('close', () => {
      if (!response.writableFinished) call.clientLeft()
    })
  }
  // By itself: what keeps the call's closures would otherwise keep its body.
  const sentBytes = body.sent?.length ?? null
  const { canonicalPath } = route.target
  const mayBeKept = body.scan?.mayBeKept ?? true
  const asked = { method, canonicalPath, body: body.plain, mayBeKept }
  const taker: AnswerHandler = options.objects.concerns(upstream, asked)
    ? options.objects.watch(reader, {
        ...asked,
        callId: open.callId,
        owner: admission.caller,
        upstream,
        pathAndQuery: route.target.pathAndQuery,
        found: admission.reported?.events ?? NONE,
        isNameless: isNameless(admission, context.request.model),
        fetchPage: (next) => askUpstream(upstream, headersOf(request, headerOptions, sentBytes), next),
      })
    : reader
  const headerOptions = {
    host: upstream.host,
    credential: credentialFor(admission),
    passesCredentialsBeside: upstream.takesClients && sendsProof(method) ? (admission.key ?? '') : null,
    idempotencyOf: upstream.takesClients ? null : admission.caller.clientId,
    // A call to an unknown path is not changed for the sake of being read.
    askIdentity: (dialect !== null && dialect.isGeneric !== true) || taker !== call,
    isPlain: body.isEdited,
    ownsOrigins: upstream.ownsOrigins,
    ...(attemptSpan === null ? {} : { trace: attemptSpan.headers }),
  }
  const handler = gate === null ? taker : gate.stand(call, taker, context)
  try {
    const toSend = bodyToSend(options, call, admission, body)
    // The length of one that goes out as a whole is written with it.
    const isWhole = Buffer.isBuffer(toSend) && toSend.length > 0
    const path = upstream.basePath + route.target.pathAndQuery
    const forwarded =
      // What is kept of a connection knows nothing of a client's own credential, and must not.
      isWhole && !signsRequests(upstream) && !upstream.takesClients
        ? null
        : headersOf(request, headerOptions, sentBytes)
    const signature = sendsProof(method)
      ? signatureFor(upstream, method, path, body.sent, forwarded ?? NONE)
      : NONE
    upstream.pool.dispatch(
      {
        path,
        method,
        headers:
          forwarded === null
            ? repeatedHeadFields(request.socket, request.rawHeaders, headerOptions)
            : [...forwarded, ...signature],
        body: toSend,
      },
      handler,
    )
  } catch (error) {
    handler.onResponseError(null, error instanceof Error ? error : new Error(String(error)))
  }
}

function exchangeContext(
  { services, objects, admission: { costInAnswers, limits, now } }: DispatchOptions,
  admission: Admission,
  response: ServerResponse,
  open: OpenCall,
  {
    mapAddress,
    gate,
    attemptSpan,
  }: {
    readonly mapAddress: MapAddress
    readonly gate: AttemptGate | null
    readonly attemptSpan: AttemptSpan | null
  },
): ExchangeContext {
  const { body, method, route } = admission
  const { plain, scan } = body
  const asked = scan?.asked ?? NOTHING_ASKED
  const requestBytes = plain?.length ?? 0
  const costShownTo = costInAnswers?.() ?? null
  const { canonicalPath: path } = route.target
  const ordered = route.dialect?.hidesOrderedModel === true ? objects.modelOf(route.upstream, path) : null
  const model = open.requestedModel ?? ordered
  return {
    call: open,
    request: {
      method,
      path,
      model,
      stream: scan?.stream ?? null,
      fields: body.fields,
    },
    client: admission.caller,
    arrivedAt: admission.arrivedAt,
    dialect:
      route.dialect !== null && isNameless(admission, model)
        ? { ...route.dialect, createReader: () => READS_NOTHING }
        : route.dialect,
    requestBody: plain !== null && plain.length <= KEPT_BODY_BYTES ? plain : null,
    requestBytes,
    askedTiers: asked.tiers,
    soundMs: body.form?.soundMs,
    upperUse:
      limits === null || route.dialect?.responseUse === 'fetched'
        ? null
        : () => limits.upperUse(admission, open.requestedModel, asked, requestBytes),
    response,
    stripUsageEvent: body.asksForUsage,
    limits: admission.limits,
    errorShape: () => admission.errorShape,
    ownsOrigins: route.upstream.ownsOrigins,
    hasOurCredential: credentialFor(admission) !== null || route.upstream.fetched !== null,
    rates: admission.rates,
    mapAddress,
    liteLlm: services.shownLimits && callHeaders(shownCall(admission, open, services.shownLimits), now()),
    showsCost: costShownTo !== null && showsCostTo(costShownTo, admission.caller),
    commentsCost: costShownTo !== null && asksForComment(admission.request, route.target.canonicalPath),
    span: admission.span,
    attemptSpan,
    endedUses: admission.reported?.uses ?? NONE,
    onEnd: () => admission.release(),
    attempt: gate?.state,
  }
}

/** A worker that knows the model tells what was used: counted without a model, it would have no price for good. */
function isNameless({ route }: Admission, model: string | null): boolean {
  return model === null && route.dialect?.hidesOrderedModel === true
}

function shownCall(
  { route, namedModel, caller }: Admission,
  { callId }: OpenCall,
  limitsOf: NonNullable<CallServices['shownLimits']>,
): ShownCall {
  const asked = cleanModel(route.choice?.asked ?? route.modelInPath ?? namedModel)
  return { callId, asked, limits: limitsOf(caller.clientId, caller.keyId) }
}

function credentialFor({ method, route }: Admission): Upstream['credential'] {
  return sendsProof(method) ? credentialOf(route.upstream) : null
}

/** A server that answers TRACE sends back what was sent (RFC 9110, 9.3.8). */
function sendsProof(method: string): boolean {
  return method !== 'TRACE'
}

function headersOf(request: IncomingMessage, options: HeaderOptions, contentLength: number | null): string[] {
  return forwardableRequestHeaders(request.rawHeaders, { ...options, contentLength })
}

/** `null`: there is none. */
function bodyToSend(
  options: DispatchOptions,
  call: Exchange,
  admission: Admission,
  { sent, plain, form }: CallBody,
): Buffer | Readable | null {
  if (sent === null) return uploadOf(options, call, admission, form)
  // One that was only held is judged as it passes, as if it came now.
  return plain === null ? guarded(options, admission, inPieces(sent)) : sentBody(sent)
}

/** A body that goes upstream as it comes; `null`: there is none. */
function uploadOf(
  options: DispatchOptions,
  call: Exchange,
  admission: Admission,
  form: FormUpload | null,
): Readable | null {
  const upload =
    form === null
      ? streamedBody(admission.request, () => call.isAnswered)
      : formOf(options, call, admission, form)
  return upload === null ? null : guarded(options, admission, upload)
}

function formOf(options: DispatchOptions, call: Exchange, admission: Admission, form: FormUpload): Readable {
  const { modelInPath } = admission.route
  const onModel = (model: string | null) => {
    call.nameModel(cleanModel(modelInPath ?? model))
    // Where the call depends on its model, a form that names another one later is cut.
    if (admission.modelDecides) return false
    // One that leaves it in doubt has no price, whatever was reserved for the model before.
    return model !== null || modelInPath !== null || !needsOneModel(admission, options.admission)
  }
  // Limits have let pass what was known before the file.
  return form.body(
    onModel,
    (ofModels) => admission.limits === null && !(ofModels && admission.modelDecides),
    () => call.isAnswered,
  )
}

/** An upload that may name objects is read as it passes. */
function guarded({ objects }: DispatchOptions, admission: Admission, upload: Readable): Readable {
  const { route, caller, request } = admission
  const { canonicalPath } = route.target
  const reading = objects.readsUpload(route.upstream, canonicalPath)
  if (reading === 'nothing') return upload
  const type = request.headers['content-type'] ?? ''
  const boundary = formBoundary(type)
  if (isCoded(request) || (boundary === null && /^\s*multipart\/form-data/i.test(type))) {
    throw new GatewayError('invalid_request', { message: 'Send the form uncoded, and with one boundary.' })
  }
  const isFile = reading === 'file'
  if (boundary === null && !isFile) return upload
  return guardUpload(upload, { canonicalPath, boundary, isFile }, (ids) =>
    refuseUpload(objects, route, caller.clientId, ids),
  )
}

function isCoded({ headers }: IncomingMessage): boolean {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  return coding !== '' && coding !== 'identity'
}

/** A body that was read, on its way upstream. */
function sentBody(body: Buffer): Buffer | Readable {
  return body.length <= WHOLE_BYTES ? body : inPieces(body)
}
