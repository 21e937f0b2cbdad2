// The objects in an answer: the ids of those it made, and whether a job still runs.

import type { AnswerController, AnswerHandler, AnswerHeaders } from '#http-client/answer-handler.ts'
import type { ObjectKind } from '../call/object-event.ts'
import { type BodyDecoder, createDecoder } from '../http/codings/decode.ts'
import {
  arrayIn,
  type JsonObject,
  member,
  objectIn,
  objectsIn,
  textIn,
} from '../providers/reading/json-value.ts'
import { asBuffer } from '../providers/wires/elements.ts'
import { compileProjection, JsonScanner } from '../providers/wires/json.ts'
import type { NameWalk } from './names/name-paths.ts'
import { TextNames } from './names/text-names.ts'
import { statusOf } from './object-kinds.ts'
import { namesIn, type ObjectName } from './object-path.ts'

const OBJECT = {
  id: 'value',
  name: 'value',
  request_id: 'value',
  job_id: 'value',
  batch_id: 'value',
  // Vercel's library's.
  batchId: 'value',
  status: 'value',
  processing_status: 'value',
  task_status: 'value',
  state: 'value',
  done: 'value',
} as const

const PROJECTION = compileProjection({
  ...OBJECT,
  metadata: {
    state: 'value',
    name: 'value',
    batch: { name: 'value' },
    tunedModel: 'value',
    output: { responsesFile: 'value' },
  },
  // Alibaba's.
  output: { task_status: 'value' },
  // Vercel's.
  provider_metadata: { gateway: { generationId: 'value' } },
  providerMetadata: { gateway: { generationId: 'value' } },
  cancel_time: 'value',
  cancel_by_xai_message: 'value',
  pagination_token: 'value',
  invocationArn: 'value',
  jobArn: 'value',
  thread_id: 'value',
  conversation_id: 'value',
  output_file: 'value',
  error_file: 'value',
  output_file_id: 'value',
  error_file_id: 'value',
  output_dataset_id: 'value',
  fine_tuned_model: 'value',
  tunedModel: { model: 'value', endpoint: 'value', checkpoints: [{ endpoint: 'value' }] },
  result_files: ['value'],
  file: OBJECT,
  response: { ...OBJECT, responsesFile: 'value' },
  interaction: OBJECT,
  // Cohere's.
  batch: { ...OBJECT, output_dataset_id: 'value' },
  finetuned_model: OBJECT,
  // Together's, of the call that makes one.
  job: OBJECT,
})

/** The members in which an object stands inside its answer. */
const INNER = ['response', 'interaction', 'batch', 'finetuned_model', 'job'] as const

/** How much of a stream is looked at for the beginning of its first event. */
const MAX_BEFORE_EVENT_BYTES = 256 * 1024
const OPEN_BRACE = 0x7b
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** The objects that one answer names. */
export interface AnswerObjects {
  /** The object that the answer is, as far as it says its id. */
  readonly names: (kind: ObjectKind) => readonly ObjectName[]
  /** Files and models that a job left. */
  readonly left: readonly ObjectName[]
  /** As written, in lower case; '' where none is. */
  readonly status: string
  /** Where the next page of it begins; `null`: there is none. */
  readonly nextPage: string | null
  /** The ids at the places that were looked at in all of it; none where none were. */
  readonly within: readonly string[]
}

/** Reads an answer as it passes: a JSON document to its end, a stream to the end of its first event. */
export class AnswerReader {
  readonly #scanner = new JsonScanner(PROJECTION)
  #kind: 'unknown' | 'json' | 'stream' | 'over' = 'unknown'
  #held = ''
  #inEvent = false
  readonly #within: TextNames | null

  /** @param walk the places of ids for which a stream is read to its end; `null`: it is not. */
  constructor(walk: NameWalk | null = null) {
    this.#within = walk === null ? null : new TextNames(walk, false)
    this.#within?.begin(true)
  }

  push(chunk: Uint8Array): void {
    this.#within?.push(asBuffer(chunk))
    if (this.#kind === 'over') return
    if (this.#kind === 'unknown') {
      const first = Buffer.from(chunk.buffer, chunk.byteOffset, Math.min(chunk.length, 64))
        .toString('latin1')
        .trimStart()
      if (first === '') return
      this.#kind = first.charCodeAt(0) === OPEN_BRACE || first.startsWith('\xef\xbb\xbf{') ? 'json' : 'stream'
    }
    if (this.#kind === 'json') this.#scanner.push(chunk)
    else this.#pushEvent(chunk)
  }

  /** The first event of a stream was read, and nothing that follows is, but for what is looked for within. */
  get hasBegun(): boolean {
    return this.#kind === 'over'
  }

  /** The objects that were read until now. */
  get objects(): AnswerObjects {
    const whole = objectIn(this.#scanner.extracted.value) ?? {}
    const inner = INNER.map((name) => member(whole, name)).find((found) => found !== null) ?? whole
    return {
      names: (kind) =>
        inner === whole ? namesOf(kind, whole) : [...namesOf(kind, whole), ...namesOf(kind, inner)],
      left: leftBy(whole),
      status: statusOf(inner) || statusOf(whole),
      nextPage: textIn(whole.pagination_token) || null,
      within: this.#within?.takeIds() ?? [],
    }
  }

  #pushEvent(chunk: Uint8Array): void {
    if (this.#inEvent) {
      this.#pushData(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
      return
    }
    this.#held += Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
    const start = /(?:^|[\r\n])data: ?(?=\{)/.exec(this.#held)
    if (start !== null) {
      const data = this.#held.slice(start.index + start[0].length)
      this.#held = ''
      this.#inEvent = true
      this.#pushData(Buffer.from(data, 'latin1'))
    } else if (this.#held.length > MAX_BEFORE_EVENT_BYTES) {
      this.#kind = 'over'
      this.#held = ''
    }
  }

  /** Events of whatever length: the one that tells of a response repeats the instructions that its client wrote. */
  #pushData(data: Buffer): void {
    const lineFeed = data.indexOf(LINE_FEED)
    const line = lineFeed === -1 ? data : data.subarray(0, lineFeed)
    const end = line.indexOf(CARRIAGE_RETURN)
    this.#scanner.push(end === -1 ? line : line.subarray(0, end))
    if (lineFeed !== -1 || end !== -1) this.#kind = 'over'
  }
}

function namesOf(kind: ObjectKind, document: JsonObject): readonly ObjectName[] {
  const file = member(document, 'file')
  // Beside it the id of a request is the client's to choose, too (Z.ai).
  const id =
    textIn(document.id) ??
    textIn(document.request_id) ??
    textIn(document.job_id) ??
    textIn(document.batch_id) ??
    textIn(document.batchId)
  const names: ObjectName[] = id === null || id.includes('/') ? [] : [{ kind, id }]
  // Google's objects are called by their names. Elsewhere a name is the client's to choose, another object's too.
  const called = id !== null ? [document.id] : [document.name, member(document, 'metadata')?.name]
  for (const text of [...called, document.invocationArn, document.jobArn])
    names.push(...namesIn(textIn(text) ?? ''))
  for (const metadata of [document.provider_metadata, document.providerMetadata]) {
    const generation = textIn(member(metadata, 'gateway')?.generationId)
    if (kind === 'completion' && generation !== null) names.push({ kind, id: generation })
  }
  const thread = textIn(document.thread_id)
  if (kind === 'thread' && thread !== null) names.push({ kind, id: thread })
  const conversation = textIn(document.conversation_id)
  if (kind === 'conversation' && conversation !== null) names.push({ kind, id: conversation })
  // An upload that ends is a file, and Google's uploads answer with nothing else.
  return file === null ? names : [...names, ...namesOf('file', file)]
}

function leftBy(job: JsonObject): readonly ObjectName[] {
  const files = [
    job.output_file_id,
    job.error_file_id,
    job.output_file,
    job.error_file,
    ...arrayIn(job.result_files),
  ]
  const model = textIn(job.fine_tuned_model)
  // Google's, which has no id. Elsewhere what stands there is what the client wrote.
  const metadata = textIn(job.id) === null ? member(job, 'metadata') : null
  const tuned = [metadata?.tunedModel, ...tunedBy(textIn(job.id) === null ? job : {})]
  const response = member(job, 'response')
  const responses = [response?.responsesFile, member(metadata, 'output')?.responsesFile]
  // An operation of Google's names what it has made.
  if (textIn(job.id) === null) responses.push(response?.name)
  const dataset = textIn(job.output_dataset_id ?? member(job, 'batch')?.output_dataset_id)
  return [
    ...files.flatMap((text): ObjectName[] => {
      const id = textIn(text)
      return id === null ? [] : [{ kind: 'file', id }]
    }),
    ...(model === null ? [] : [{ kind: 'model' as const, id: model }]),
    ...(dataset === null ? [] : [{ kind: 'dataset' as const, id: dataset }]),
    ...tuned.flatMap((name) => tunedNames(textIn(name) ?? '')),
    ...responses.flatMap((name) => namesIn(textIn(name) ?? '')),
  ]
}

/** A later version belongs to a model that was there before, which it does not make the job's. */
function tunedNames(name: string): readonly ObjectName[] {
  const names = namesIn(name)
  return /@(?!1$)\w+$/.test(name) ? names.filter(({ id }) => id.includes('@')) : names
}

/** The model of Vertex's that a job has tuned, and the endpoints by which it is called. */
function tunedBy(job: JsonObject): readonly unknown[] {
  const tuned = member(job, 'tunedModel')
  return [tuned?.model, tuned?.endpoint, ...objectsIn(tuned?.checkpoints).map(({ endpoint }) => endpoint)]
}

/** Called with what an answer says of objects, before its end is passed on. */
export type OnObjects = (objects: AnswerObjects, isWhole: boolean, headers: AnswerHeaders) => void

/**
 * Calls back before `next` hears of the end; of a stream also once its first event was read: what it made may be used, or
 * deleted, while it goes on. Only for answers with a status of success.
 */
export class WatchedAnswer implements AnswerHandler {
  readonly #next: AnswerHandler
  readonly #onObjects: OnObjects
  readonly #walk: NameWalk | null
  #headers: AnswerHeaders = {}
  #reader: AnswerReader | null = null
  #decoder: BodyDecoder | null = null
  #hasReportedBeginning = false

  constructor(next: AnswerHandler, onObjects: OnObjects, walk: NameWalk | null = null) {
    this.#next = next
    this.#walk = walk
    this.#onObjects = onObjects
  }

  onRequestStart(controller: AnswerController): void {
    this.#next.onRequestStart(controller)
  }

  onResponseStart(
    controller: AnswerController,
    status: number,
    headers: AnswerHeaders,
    message: string,
  ): void {
    if (status >= 200 && status < 300) {
      this.#reader = new AnswerReader(this.#walk)
      this.#headers = headers
      const encoding = headers['content-encoding']
      if (encoding !== undefined && encoding !== 'identity') {
        this.#decoder = createDecoder(String(encoding), (decoded) => this.#read(decoded))
      }
    }
    this.#next.onResponseStart(controller, status, headers, message)
  }

  onResponseData(controller: AnswerController, chunk: Buffer): void {
    if (this.#decoder !== null) this.#decoder.push(chunk)
    else this.#read(chunk)
    this.#next.onResponseData(controller, chunk)
  }

  onResponseEnd(controller: AnswerController, trailers: AnswerHeaders | null): void {
    if (this.#decoder === null) {
      this.#notify(true)
      this.#next.onResponseEnd(controller, trailers)
      return
    }
    this.#decoder.end((result) => {
      this.#notify(result === 'complete')
      this.#next.onResponseEnd(controller, trailers)
    })
  }

  onResponseError(controller: AnswerController | null, error: Error): void {
    this.#decoder?.destroy()
    // Objects made before the answer broke off are there.
    this.#notify(false)
    this.#next.onResponseError(controller, error)
  }

  #read(chunk: Uint8Array): void {
    const reader = this.#reader
    reader?.push(chunk)
    if (this.#hasReportedBeginning || reader?.hasBegun !== true) return
    this.#hasReportedBeginning = true
    this.#onObjects(reader.objects, false, this.#headers)
  }

  #notify(isWhole: boolean): void {
    const reader = this.#reader
    this.#reader = null
    if (reader !== null) this.#onObjects(reader.objects, isWhole, this.#headers)
  }
}
