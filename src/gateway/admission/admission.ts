import type { IncomingMessage } from 'node:http'
import type { Caller, CallerLookup, KeyOwner } from '../../call/call-ports.ts'
import type { GatewayConfig } from '../../config/config.ts'
import type { ErrorShape } from '../../http/error-shape.ts'
import type { CallRefusal } from '../../http/errors.ts'
import type { AnsweredClient, ExpectedUses, HeldLimits } from '../../limits/engine/held-limits.ts'
import type { ExpectedUse, Limiter, UpperUse } from '../../limits/engine/limiter.ts'
import type { RefusedCall } from '../../limits/engine/refusal-counts.ts'
import { type BodyNames, NO_NAMES } from '../../objects/names/body-names.ts'
import type { Objects } from '../../objects/objects.ts'
import type { AskedSize } from '../bodies/asked-size.ts'
import { type CallBody, type ReadableBody, UNREAD, UNREAD_BODY } from '../bodies/body-reading.ts'
import { announcesBody } from '../forms/form-upload.ts'
import type { EndedUses, JobSettler } from '../jobs/job-settler.ts'
import type { CallTarget } from '../routing/call-target.ts'
import { errorShapeOf, shapeOfRequest } from '../routing/call-target.ts'
import { modelInQuery, queryNamesOther, type Route } from '../routing/route.ts'
import type { UpstreamTable } from '../routing/upstream-table.ts'
import type { CallSpan } from '../tracing/call-span.ts'
import type { PathPolicy } from './path-policy.ts'
import type { AnswerRates } from './rate-headers.ts'
import type { ReceivedSignature, SignerLookup } from './received-signature.ts'

const NO_CANDIDATES: readonly never[] = []

/**
 * LiteLLM's proxy runs each model of a list with commas, and OpenRouter the models of a preset. Servers that write the
 * name into an address lead it elsewhere by `..`, as libraries of HTTP take that out.
 */
const MEANS_OTHERS = /,|@preset\/|(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?:[/\\]|%2f|%5c|$)/i

function isDoubtful(name: string | null, { upstream }: Route): boolean {
  return name !== null && MEANS_OTHERS.test(name) && upstream.models?.includes(name) !== true
}

/** `null` lets the call pass; otherwise it is refused. A promise only where a store has to be asked. */
export type Stage = (
  admission: Admission,
  options: AdmissionOptions,
) => CallRefusal | null | Promise<CallRefusal | null>

/** When a stage runs, in this order: see `buildStages`. */
export type Moment = 'arrival' | 'caller' | 'head' | 'model'

export type Stages = Readonly<Record<Moment, readonly Stage[]>>

/** Rates and budgets, as stages ask for them. */
export interface AdmissionLimits extends ExpectedUses {
  readonly limiter: Limiter
  /** Of a call that runs a model, or may. */
  expectedUse(admission: Admission): ExpectedUse
  /** The same in tokens, later, of one whose body is gone by then: what it asked for, and its bytes. */
  upperUse(admission: Admission, model: string | null, asked: AskedSize, bytes: number): UpperUse
}

/** What the stages of a process decide by. */
export interface AdmissionOptions {
  readonly stages: Stages
  /** As of the start. What a reload changes comes from `upstreams`, `pathPolicy` and `costInAnswers`. */
  readonly config: GatewayConfig
  /** Synchronous for a known key. */
  readonly findCaller: (key: string) => CallerLookup | Promise<CallerLookup>
  /** The same of those that a proxy of the operator's vouches for; absent: no such is trusted. */
  readonly findVouched?:
    | ((subject: string, client: string) => CallerLookup | Promise<CallerLookup>)
    | undefined
  /** The same by a key's id, for clients that sign. */
  readonly signers: SignerLookup
  /** `canTakeCalls` false: the journal is full, or the disk takes no writes. */
  readonly ledger: { readonly canTakeCalls: boolean }
  readonly upstreams: UpstreamTable
  readonly pathPolicy: PathPolicy
  /** Clients and keys whose answers say what they cost now, `*`: all; `null` or absent: none. */
  readonly costInAnswers?: (() => readonly string[] | null) | undefined
  readonly objects: Objects
  readonly jobs: JobSettler
  /** Calls that go on without their clients. */
  readonly unattended: { isFull(clientId: string, isFetch: boolean): boolean }
  /** `null`: nothing is limited. */
  readonly limits: AdmissionLimits | null
  /** A known client's call was refused, whichever stage did it. */
  readonly refused: (refused: RefusedCall) => void
  /** A request was refused before its client was known, or because its key or client is not active. */
  readonly refusedUnknown: (reason: string, owner: KeyOwner | null) => void
  /** A call came with an active key. Absent: networks are not kept. */
  readonly keyUsed?: ((keyId: string, request: IncomingMessage) => void) | undefined
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
  /** A stage threw, which none should: its call is answered with `internal_error`. */
  readonly stageFailed: (error: unknown) => void
}

/** Something that a call has taken, and gives back once it is over. */
export interface Held {
  release(): void
}

/**
 * One request on its way in, with what the stages found out about it. Each door makes one for a request, and
 * releases it when the call is over, however it ended.
 */
export class Admission {
  readonly request: IncomingMessage
  /** Where the answer goes: a response, or a WebSocket's connection. Destroyed once the client has left. */
  readonly client: AnsweredClient
  readonly webSocket: boolean
  readonly method: string
  /** Whether a body was announced. */
  readonly hasBody: boolean
  /** Monotonic milliseconds at the request's arrival. */
  readonly arrivedAt = performance.now()
  /** The same by the wall clock, milliseconds since 1970. */
  readonly arrivedAtMs: number

  /** As the client sent it; from `readCredential` on without a key in its query. */
  urlWithoutKey: string
  /** The API key as it was sent, which may be anything; `null`: not read yet. */
  key: string | null = null
  /** Whom the operator's own proxy vouches for, in place of a key; `null`: it does not. */
  vouched: { readonly subject: string; readonly client: string } | null = null
  /** What a client of AWS's libraries signed, in place of a key; `null`: it has a key. */
  signature: ReceivedSignature | null = null
  /** Whose key was sent, where that or its client is not active; `null`: none such was. */
  refusedOwner: KeyOwner | null = null
  /** The path rules allow it at its upstream. */
  isPathAllowed = false
  /** The targets that it may go to, in order, the one of `route` first; empty: it is a call without such a choice. */
  candidates: readonly Route[] = NO_CANDIDATES
  /** Where the call goes, or whether it may be made, depends on the model that its body names. */
  modelDecides = false
  bodyReading: ReadableBody = UNREAD
  body: CallBody = UNREAD_BODY
  /** Objects and models that the body names beside its own model. Known after `readNames`. */
  names: BodyNames = NO_NAMES
  /** Servers could read other names in it. */
  isBodyInDoubt = false
  /** What was reported of the jobs that the call ends, before it does; `null`: nothing. */
  reported: EndedUses | null = null
  /** What the call holds of its client's limits; `null`: none holds for it. */
  limits: HeldLimits | null = null
  /** What its answer says of the client's rates; `null`: nothing. */
  rates: AnswerRates | null = null
  /** Its values on the axes of the configuration, as its record has them; `undefined`: none. */
  axes: string | undefined = undefined
  /** Its span, from when it is about to go upstream; `null`: there is no tracing. */
  span: CallSpan | null = null

  #caller: Caller | null = null
  #target: CallTarget | null = null
  #route: Route | null = null
  #held: Held | null = null
  #othersHeld: Held[] | null = null

  constructor(request: IncomingMessage, client: AnsweredClient, webSocket: boolean, nowMs: number) {
    this.request = request
    this.client = client
    this.webSocket = webSocket
    this.method = request.method ?? 'GET'
    this.hasBody = announcesBody(request)
    this.arrivedAtMs = nowMs
    this.urlWithoutKey = request.url ?? '/'
  }

  /** Known after `findCaller`. @throws Before that: the stage that asks stands too early in the list. */
  get caller(): Caller {
    return this.#caller ?? unknownYet('caller')
  }

  set caller(caller: Caller) {
    this.#caller = caller
  }

  /** Whether `findCaller` knew the key. */
  get hasCaller(): boolean {
    return this.#caller !== null
  }

  /** What the call asks for, below the gateway's base path. Known after `readTarget`. @throws Before that. */
  get target(): CallTarget {
    return this.#target ?? unknownYet('target')
  }

  set target(target: CallTarget) {
    this.#target = target
  }

  /** Where the call goes. Known after `routeByHead`, and final after `routeByModel`. @throws Before that. */
  get route(): Route {
    return this.#route ?? unknownYet('route')
  }

  set route(route: Route) {
    this.#route = route
  }

  /** The model that the body names, or the query of a session. Of a body it is known once it was read. */
  get namedModel(): string | null {
    if (!this.webSocket) return this.body.scan?.model ?? null
    return this.#route?.dialect?.queryNamesModel === true ? modelInQuery(this.target.pathAndQuery) : null
  }

  /** The model that it asked for, as far as its stages came; `null`: none was named, or read. */
  get askedModel(): string | null {
    if (this.#target === null) return null
    return this.#route?.modelInPath ?? this.namedModel
  }

  /** The model as the upstream is asked for it. */
  get sentModel(): string | null {
    const { choice, modelInPath } = this.route
    return modelInPath ?? choice?.model ?? this.namedModel
  }

  /** Whether a name of its model could mean other models. That of a route is the operator's, as one of an upstream's list. */
  get isNameInDoubt(): boolean {
    const route = this.#route
    if (route === null || route.choice !== null) return false
    return isDoubtful(route.modelInPath, route) || isDoubtful(this.namedModel, route)
  }

  /** Whether it asks for a list of models at once. */
  get namesSeveral(): boolean {
    return this.isNameInDoubt && [this.route.modelInPath, this.namedModel].some((name) => name?.includes(','))
  }

  /** Whether servers could run another model than the one that the call names. */
  get mayRunOthers(): boolean {
    if (this.isNameInDoubt) return true
    const { scan } = this.body
    if (scan === null) return false
    const isSure = scan.readable && !scan.duplicateModel && !scan.namesOtherModels
    return !isSure || queryNamesOther(this.route.target.pathAndQuery, scan.model)
  }

  /** How an error is written that the call is answered with. */
  get errorShape(): ErrorShape {
    const { headers } = this.request
    const route = this.#route
    if (route !== null && !route.needsModel) {
      return errorShapeOf(route.target.canonicalPath, headers, route.upstream.provider)
    }
    return this.#target === null
      ? shapeOfRequest(this.request)
      : errorShapeOf(this.#target.canonicalPath, headers, null)
  }

  /** Keeps `held` until the call is over. Only for stages of `head` and `model`, which belong to calls. */
  hold(held: Held): void {
    if (this.#held === null) this.#held = held
    else if (this.#othersHeld === null) this.#othersHeld = [held]
    else this.#othersHeld.push(held)
  }

  /** The call is over: it was refused, it ended, or its client left. Calling this again does nothing. */
  release(): void {
    const held = this.#held
    const others = this.#othersHeld
    this.#held = null
    this.#othersHeld = null
    held?.release()
    if (others !== null) for (const other of others) other.release()
  }
}

function unknownYet(what: string): never {
  throw new Error(`a stage needs the ${what} of a call, and stands before the stage that finds it`)
}
