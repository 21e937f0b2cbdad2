// Whether a call may go on, as far as objects are concerned, and what its answer makes of them.

import type { AnswerHandler } from '#http-client/answer-handler.ts'
import type { CallRecord } from '../call/call-record.ts'
import { foldObjectId, MAX_OBJECT_ID_BYTES, type ObjectEvent } from '../call/object-event.ts'
import { cleanText } from '../domain/clean-text.ts'
import { GatewayError } from '../http/errors.ts'
import { textIn } from '../providers/reading/json-value.ts'
import type { Provider } from '../providers/registry.ts'
import { type AnswerObjects, type OnObjects, WatchedAnswer } from './answer-objects.ts'
import { CallEvents } from './call-events.ts'
import { endShown, readsResults } from './job-ends.ts'
import { filterList } from './lists/list-filter.ts'
import { ListedAnswer } from './lists/listed-answer.ts'
import { isTunedModel } from './names/body-names.ts'
import { ANSWER_WALK, KEPT_WALK, namedPaths } from './names/name-paths.ts'
import type { ObjectIndex, ObjectOwner, Owners } from './object-index.ts'
import { JOBS, JOBS_WHEN_RUNNING } from './object-kinds.ts'
import {
  isJob,
  isPartOfFile,
  keptAnswersOf,
  kindMade,
  MAKES_OPERATION,
  MAX_SEARCHED_BYTES,
  madeNames,
  makesContainer,
  takesForms,
} from './object-makers.ts'
import {
  idsInQuery,
  isUploadPath,
  jobsReadBy,
  type ObjectPath,
  readings,
  readObjectPath,
  uploadIdsIn,
} from './object-path.ts'
import type { KeptJob } from './table/jobs-table.ts'

/** An upstream, as far as its objects are concerned. */
export interface ObjectUpstream {
  readonly name: string
  readonly provider: Provider
  /** `owned`: clients see and use their own objects alone. `shared`: all of the account's. */
  readonly objects: 'owned' | 'shared'
  /** The names of all upstreams at the same address, which have the same objects; its own among them. */
  readonly account: readonly string[]
}

/**
 * `hidden`: it is about another's object, of which nothing is shown. `unavailable`: the owner cannot be read
 * now. `unreadable`: it hides what it is about.
 */
export type Verdict = 'pass' | 'hidden' | 'unavailable' | 'unreadable'

/** A call whose answer is to be watched. */
export interface ObjectCall {
  readonly callId: string
  readonly owner: ObjectOwner & { readonly clientName: string }
  readonly upstream: ObjectUpstream
  readonly method: string
  readonly canonicalPath: string
  readonly pathAndQuery: string
  /** `null`: not read. */
  readonly body: Buffer | null
  /** Its body asks for the answer to be kept, or may: completions are kept only then. */
  readonly mayBeKept: boolean
  /** The use that was found of jobs before the call ends them. */
  readonly found: readonly ObjectEvent[]
  /** It fetches a job whose model neither the answer nor this process knows, so that its use is not read. */
  readonly isNameless: boolean
  /** Asks the upstream for another page of the list that this call asked for. */
  readonly fetchPage: (pathAndQuery: string) => Promise<Buffer>
}

/** A call that makes an object, as far as its record is concerned. */
type MakingCall = Pick<ObjectCall, 'callId' | 'owner' | 'upstream' | 'canonicalPath'>

const NONE: readonly string[] = []
/** The kind of answers that can be read again, whatever they are of. */
const ANSWER_KIND = 'completion'
const MODEL_PATH = /\/models\/(.+)$/i

/** The objects of all upstreams: one for a process. */
export class Objects {
  readonly #index: ObjectIndex
  readonly #events = new CallEvents()

  constructor(index: ObjectIndex) {
    this.#index = index
  }

  /**
   * Tells whether a request's body is to be read for the ids in it, where its endpoint does not want it read anyway.
   */
  readsBody(upstream: ObjectUpstream, canonicalPath: string, contentType: string): boolean {
    if (upstream.objects === 'shared') return false
    const path = readObjectPath(canonicalPath)
    if (/^multipart\//i.test(contentType) && takesForms(path)) return false
    if (path.names.length === 0 && path.collection === null)
      return MAKES_OPERATION.test(path.verb) || namedPaths(canonicalPath).isKnown
    // The file itself, of any type and size.
    return path.names.length > 0 ? !isPartOfFile(path) : path.collection !== 'file'
  }

  /** The parts of an upload that streams which name objects: its fields, or also the lines of its file. */
  readsUpload(upstream: ObjectUpstream, canonicalPath: string): 'nothing' | 'fields' | 'file' {
    if (upstream.objects === 'shared') return 'nothing'
    const path = readObjectPath(canonicalPath)
    if (path.collection === 'file' || path.collection === 'upload' || isPartOfFile(path)) return 'file'
    return namedPaths(canonicalPath).readsForms ? 'fields' : 'nothing'
  }

  /**
   * Tells whether the client may send this call. At once where nothing of it names an object, or all is known.
   *
   * @param inBody the ids that its body names.
   */
  judge(
    upstream: ObjectUpstream,
    method: string,
    canonicalPath: string,
    pathAndQuery: string,
    clientId: string,
    inBody: readonly string[],
  ): Verdict | Promise<Verdict> {
    if (upstream.objects === 'shared')
      return method === 'GET' ? this.#findSubmission(upstream, canonicalPath) : 'pass'
    const path = readObjectPath(canonicalPath)
    let ids = path.names.length === 0 ? NONE : this.#idsIn(path, upstream, clientId)
    if (pathAndQuery.includes('?') && (method !== 'POST' || isUploadPath(canonicalPath))) {
      const inQuery = idsInQuery(pathAndQuery)
      if (inQuery === null) return 'unreadable'
      if (inQuery.length > 0) ids = [...ids, ...inQuery.map((id) => cleanText(id, MAX_OBJECT_ID_BYTES))]
    }
    // All of a collection, with what is others'.
    if (method === 'DELETE' && path.collection !== null && path.names.length === 0) return 'hidden'
    const model = MODEL_PATH.exec(canonicalPath)?.[1]
    // Tuned models alone have an owner, and can be deleted.
    if (model !== undefined && (method === 'DELETE' || isTunedModel(model)))
      ids = [...ids, ...readings(model)]
    if (inBody.length > 0) ids = [...ids, ...inBody.flatMap(readings)]
    return this.#judgeIds(upstream, clientId, ids)
  }

  /** As {@link judge}, of a WebSocket handshake: an upstream that answers it as a GET would show its list as it is. */
  judgeHandshake(
    upstream: ObjectUpstream,
    canonicalPath: string,
    pathAndQuery: string,
    clientId: string,
  ): Verdict | Promise<Verdict> {
    const { collection } = readObjectPath(canonicalPath)
    // The one with sessions of its own, and without a list.
    const isList = collection !== null && collection !== 'response'
    if (isList && upstream.objects === 'owned') return 'hidden'
    return this.judge(upstream, 'GET', canonicalPath, pathAndQuery, clientId, NONE)
  }

  /** Whether one of `ids` is known to be an object at this upstream, its own client's or another's. */
  async hasAny(upstream: ObjectUpstream, ids: readonly string[]): Promise<boolean> {
    const owners = await this.#index.find(upstream.account, ids.flatMap(readings))
    return owners.size > 0
  }

  /** Tells whether the client may use all of `ids`: those in an upload or message, as it passes. */
  judgeIds(upstream: ObjectUpstream, clientId: string, ids: readonly string[]): Verdict | Promise<Verdict> {
    return this.#judgeIds(upstream, clientId, ids.flatMap(readings))
  }

  /** Tells whether the answer of such a call may say something of objects: what to ask of every call before `watch`. */
  concerns(
    upstream: ObjectUpstream,
    call: Pick<ObjectCall, 'method' | 'canonicalPath' | 'body' | 'mayBeKept'>,
  ): boolean {
    const { method, canonicalPath, body, mayBeKept } = call
    if (method === 'POST' && keptAnswersOf(upstream) !== null) return true
    const { names, collection, verb } = readObjectPath(canonicalPath)
    if (collection === 'completion' && method === 'POST') return mayBeKept
    if (verb === 'messages' && method === 'POST' && names.length === 0) return makesContainer(body)
    return (
      collection !== null || names.length > 0 || MAKES_OPERATION.test(verb) || isUploadPath(canonicalPath)
    )
  }

  /** `handler`, or one around it that reads what the answer says of objects, or takes out of it what is others'. */
  watch(handler: AnswerHandler, call: ObjectCall): AnswerHandler {
    const path = readObjectPath(call.canonicalPath)
    for (const event of call.found) this.#record(call, event)
    switch (call.method) {
      case 'POST':
        return this.#watchMaking(this.#watchUpload(this.#watchAnswer(handler, call), call), call, path)
      case 'PUT':
      case 'PATCH':
        return this.#watchList(this.#watchMaking(this.#watchUpload(handler, call), call, path), call, path)
      case 'DELETE':
        return this.#watchDeletion(handler, call, path)
      case 'HEAD':
        return handler
      // Many servers take any method that they do not know for a GET.
      default:
        for (const name of jobsReadBy(path)) this.#record(call, { ...name, is: 'read' })
        return path.collection === null
          ? this.#watchJob(handler, call, path)
          : this.#watchList(handler, call, path)
    }
  }

  /** A session's upstream keeps an answer under this id. @returns What the session has made by now. */
  made(session: MakingCall, id: string): readonly ObjectEvent[] | undefined {
    this.#record(session, { id, kind: 'response', is: 'created', job: false })
    return this.#events.of(session.callId)
  }

  /** Takes what a call has made of objects: once, for its record. */
  take(callId: string): readonly ObjectEvent[] | null {
    return this.#events.take(callId)
  }

  /** A call made this, and only its record says so: from now on no other client has it. */
  own({ upstream, clientId, keyId, requestedModel: model }: CallRecord, id: string): void {
    this.#index.add(upstream, id, { clientId, keyId, model })
  }

  /** The model of the request that made what a path names, of whose owner this process knows; `null`: not known. */
  modelOf({ account }: ObjectUpstream, canonicalPath: string): string | null {
    const id = readObjectPath(canonicalPath).names.at(-1)?.id
    return (id === undefined ? null : this.#index.findKnown(account, id)?.model) ?? null
  }

  /** A job that this process saw made lately; `null`: none of this id. */
  newJob(upstreams: readonly string[], id: string): KeptJob | null {
    return this.#events.newJob(upstreams, id)
  }

  /** The client's batches that this process saw made lately. */
  newBatches(upstreams: readonly string[], clientId: string): readonly KeptJob[] {
    const batches = this.#events.newJobs(upstreams, 'batch')
    return batches.filter(({ id }) => this.#index.findKnown(upstreams, id)?.clientId === clientId)
  }

  /** A job may be fetched by all, and what another gateway knows of its submission belongs to its use. */
  #findSubmission({ account }: ObjectUpstream, canonicalPath: string): 'pass' | Promise<'pass'> {
    const job = readObjectPath(canonicalPath).names.at(-1)
    const found = job !== undefined && JOBS.has(job.kind) ? this.#index.find(account, [job.id]) : null
    return found instanceof Promise ? found.then(pass, pass) : 'pass'
  }

  #judgeIds(upstream: ObjectUpstream, clientId: string, ids: readonly string[]): Verdict | Promise<Verdict> {
    if (ids.length === 0) return 'pass'
    const owners = this.#index.find(upstream.account, ids)
    if (!(owners instanceof Promise)) return verdictOn(owners, clientId)
    return owners.then(
      (found) => verdictOn(found, clientId),
      () => 'unavailable',
    )
  }

  /** The content of an object of the client's own is as much its own. */
  #idsIn({ names }: ObjectPath, upstream: ObjectUpstream, clientId: string): readonly string[] {
    const first = this.#index.findKnown(upstream.account, names[0]?.id ?? '')
    return first?.clientId === clientId ? NONE : names.map(({ id }) => id)
  }

  #watchList(handler: AnswerHandler, call: ObjectCall, path: ObjectPath): AnswerHandler {
    const { upstream, owner, pathAndQuery, fetchPage } = call
    if (upstream.objects === 'shared' || path.collection === null) return handler
    return new ListedAnswer(
      handler,
      async (body) =>
        await filterList(
          {
            provider: upstream.provider,
            pathAndQuery,
            clientId: owner.clientId,
            shows: path.names.length === 0 ? 'own' : 'own_and_nobodys',
            findOwners: (ids) => this.#ownersOfListed(upstream, ids),
            fetchPage,
          },
          body,
        ),
      call.body !== null,
    )
  }

  async #ownersOfListed(upstream: ObjectUpstream, ids: readonly string[]): Promise<Owners> {
    try {
      return await this.#index.find(upstream.account, ids)
    } catch (cause) {
      throw new GatewayError('storage_unavailable', { cause })
    }
  }

  /** Google's uploads are begun by one call, and their bytes come with another. */
  #watchUpload(handler: AnswerHandler, call: ObjectCall): AnswerHandler {
    if (!isUploadPath(call.canonicalPath)) return handler
    return new WatchedAnswer(handler, (_objects, _isWhole, headers) => {
      for (const id of uploadIdsIn(headers))
        this.#record(call, { id, kind: 'upload', is: 'created', job: false })
    })
  }

  /** An answer that can be read again by its id is its client's. */
  #watchAnswer(handler: AnswerHandler, call: ObjectCall): AnswerHandler {
    const kept = keptAnswersOf(call.upstream)
    if (kept === null) return handler
    const { idHeader } = kept
    const record: OnObjects = ({ names, within }, _isWhole, headers) => {
      const inHead = idHeader === undefined ? null : textIn(headers[idHeader])
      const ids = inHead === null ? [...names(ANSWER_KIND).map(({ id }) => id), ...within] : [inHead]
      for (const id of ids) this.#record(call, { id, kind: ANSWER_KIND, is: 'created', job: false })
    }
    return new WatchedAnswer(handler, record, idHeader === undefined ? KEPT_WALK : null)
  }

  #watchMaking(handler: AnswerHandler, call: ObjectCall, path: ObjectPath): AnswerHandler {
    const { names, verb } = path
    const kind = kindMade(call, path)
    const seeksContainers = (kind === 'response' || verb === 'messages') && makesContainer(call.body)
    if (kind !== null || seeksContainers) {
      return new WatchedAnswer(
        handler,
        (objects) => {
          if (kind !== null)
            for (const name of madeNames(kind, path, call.callId, objects)) {
              // A batch to which requests are added has an owner, as a rule.
              if (names.includes(name) && this.#index.findKnown(call.upstream.account, name.id)) continue
              this.#record(call, { ...name, is: 'created', job: isJob(kind, name.kind, path, objects) })
            }
          for (const id of objects.within) {
            // One that the call named stays whose it was.
            if (call.body === null || !call.body.subarray(0, MAX_SEARCHED_BYTES).includes(id)) {
              this.#record(call, { id, kind: 'container', is: 'created', job: false })
            }
          }
        },
        seeksContainers ? ANSWER_WALK : null,
      )
    }
    return verb === 'cancel' && names.length > 0 ? this.#watchJob(handler, call, path) : handler
  }

  /** A job that is read tells whether it has ended, and which files it left: they are its owner's. */
  #watchJob(handler: AnswerHandler, call: ObjectCall, path: ObjectPath): AnswerHandler {
    const job = path.names.at(-1)
    // Tuning jobs of Vertex are called like the models that they leave, and tell their endpoints.
    if (job?.kind === 'tuned_model' && path.endsInName)
      return new WatchedAnswer(handler, (objects) => this.#recordLeft(call, job.id, objects))
    if (job === undefined || !(JOBS.has(job.kind) || JOBS_WHEN_RUNNING.has(job.kind))) return handler
    if (!path.endsInName && path.verb !== 'cancel' && !readsResults(job, path)) return handler
    return new WatchedAnswer(handler, (objects, isWhole) => {
      const isSubmitters = this.#isSubmitter(call, job.id)
      const { isNameless } = call
      const end = endShown({ job, path, objects, isWhole, isNameless, isSubmitters })
      if (end !== null) this.#record(call, end)
      this.#recordLeft(call, job.id, objects)
    })
  }

  #isSubmitter({ upstream, owner }: ObjectCall, jobId: string): boolean {
    return this.#index.findKnown(upstream.account, jobId)?.clientId === owner.clientId
  }

  #recordLeft(call: ObjectCall, jobId: string, objects: AnswerObjects): void {
    if (!this.#isSubmitter(call, jobId)) return
    const leftBy = cleanText(jobId, MAX_OBJECT_ID_BYTES)
    for (const name of objects.left) {
      const isFile = name.kind === 'file'
      this.#record(call, { ...name, is: 'created', job: false, ...(isFile ? { leftBy } : {}) })
    }
  }

  #watchDeletion(handler: AnswerHandler, call: ObjectCall, path: ObjectPath): AnswerHandler {
    const [name] = path.names
    // A file in a vector store is taken out of it, not deleted.
    if (name === undefined || path.names.length > 1 || !path.endsInName) return handler
    return new WatchedAnswer(handler, () => this.#record(call, { ...name, is: 'deleted', job: false }))
  }

  #record(call: MakingCall, { id, ...event }: ObjectEvent): void {
    const kept = { id: cleanText(id, MAX_OBJECT_ID_BYTES), ...event }
    const hasRoom = this.#events.add(call.callId, kept)
    if (event.is !== 'created') return
    const { upstream, owner, canonicalPath: path } = call
    this.#index.add(upstream.name, kept.id, owner)
    if (!hasRoom || !event.job) return
    const made = { upstream: upstream.name, foldedId: foldObjectId(kept.id), createdAtMs: Date.now() }
    this.#events.addJob({ ...made, id: kept.id, kind: event.kind, path, clientName: owner.clientName })
  }
}

function pass(): 'pass' {
  return 'pass'
}

function verdictOn(owners: Owners, clientId: string): Verdict {
  for (const owner of owners.values()) if (owner.clientId !== clientId) return 'hidden'
  return 'pass'
}
