import type { Observation } from '../../call/observation.ts'
import type { ResponseHead, UsageReader } from '../dialect.ts'
import { asBuffer } from '../wires/elements.ts'
import { type Extracted, JsonScanner, type Projection } from '../wires/json.ts'
import { createArraySplitter } from '../wires/json-array.ts'
import { createLineSplitter } from '../wires/ndjson.ts'
import { type PlainJson, readPlainJson } from '../wires/plain-json.ts'
import { compileProjection, projectMembers } from '../wires/plans/json-projection.ts'
import { scanJson } from '../wires/scan-json.ts'
import { Repeats, type Standing } from '../wires/shapes/repeats.ts'
import type { BodyFormat } from './body-format.ts'
import {
  contentTypeOf,
  type DocumentReader,
  type DocumentSink,
  elementSink,
  firstByteOfText,
  sseReader,
  type Wire,
  wireOf,
} from './document-wires.ts'
import { member, objectIn, textIn } from './json-value.ts'
import type { UsageAccumulator } from './usage-update.ts'

const IGNORE: DocumentReader = { push: () => {}, end: () => {} }

/**
 * Reads a body on whichever wire it comes: one JSON document, JSON lines, a JSON array or server-sent events.
 * The first bytes decide, helped by the content type, which servers get wrong at times: Gemini's array stream
 * says `application/json`, errors answer in JSON where a stream was asked for.
 */
export function createBodyReader(head: ResponseHead, format: BodyFormat): UsageReader {
  return new BodyReader(head, format)
}

/**
 * The members by which answers name themselves: OpenAI and all who speak its formats, Anthropic and Cohere (`id`),
 * Gemini (`responseId`), Cohere's first version (`generation_id`), LM Studio (`response_id`), Alibaba (`request_id`).
 */
const ID_NAMES = ['id', 'responseId', 'generation_id', 'response_id', 'request_id'] as const
/** The member in which the answer itself stands inside a document or an event. */
const INNER_NAMES = ['message', 'response', 'interaction', 'result'] as const

/** Bedrock's answers have no id but that of their request, which AWS's own logs have too. */
const REQUEST_ID_HEADER = 'x-amzn-requestid'
/**
 * The tier at which Gemini has served a call, where it is not in the body, and Google's words for tiers.
 * https://ai.google.dev/gemini-api/docs/priority-inference
 */
const TIER_HEADER = 'x-gemini-service-tier'
const TIER_WORDS = /^(?:standard|flex|priority)$/i

/** More than any id has; what is kept of a call is bounded further. */
const MAX_ID_CHARACTERS = 512

const KEEP = compileProjection('value')
const ID_MEMBERS = ID_NAMES.map((key) => ({
  key,
  bytes: Buffer.from(key),
  projection: KEEP,
  latest: { text: '' },
}))
const plans = new WeakMap<Projection, Projection>()

/** The plan, and beside what it keeps the answer's id: from the documents that are read anyway, no others. */
export function projectionWithAnswerId(projection: Projection): Projection {
  const known = plans.get(projection)
  if (known !== undefined) return known
  const made = withIds(projection, true)
  plans.set(projection, made)
  return made
}

function withIds(projection: Projection, isOuter: boolean): Projection {
  if (projection.kind !== 'members') return projection
  const inner = projection.members.map((wanted) =>
    isOuter && INNER_NAMES.some((name) => name === wanted.key)
      ? { ...wanted, projection: withIds(wanted.projection, false) }
      : wanted,
  )
  const members = [...inner, ...ID_MEMBERS.filter(({ key }) => !inner.some((wanted) => wanted.key === key))]
  return projectMembers(members)
}

/** The id of the answer that a document of it names; `null`: none. */
export function answerIdIn(document: unknown): string | null {
  const outer = objectIn(document)
  if (outer === null) return null
  for (const name of INNER_NAMES) {
    const id = idOf(member(outer, name))
    if (id !== null) return id
  }
  return idOf(outer)
}

function idOf(fields: Readonly<Record<string, unknown>> | null): string | null {
  if (fields === null) return null
  for (const name of ID_NAMES) {
    const id = textIn(fields[name])
    if (id !== null) return id.slice(0, MAX_ID_CHARACTERS)
  }
  return null
}

/** The id that the head of an answer names; `null`: none. */
export function answerIdInHead(head: ResponseHead): string | null {
  return textIn(head.headers[REQUEST_ID_HEADER])?.slice(0, MAX_ID_CHARACTERS) ?? null
}

/** The observation at the tier that the head says; that of the body comes first. */
function withTierOfHead(observation: Observation, head: ResponseHead): Observation {
  if (observation.serviceTier !== null) return observation
  const word = head.headers[TIER_HEADER]
  if (typeof word !== 'string' || !TIER_WORDS.test(word)) return observation
  return { ...observation, serviceTier: word.toLowerCase() }
}

class BodyReader implements UsageReader, DocumentSink {
  readonly #head: ResponseHead
  readonly #format: BodyFormat
  readonly #projection: Projection
  #answerId: string | null = null
  #awaitsFirst: boolean
  #accumulator: UsageAccumulator
  #reader: DocumentReader | null = null
  /** The whole body, where it is one document. */
  #whole: PlainJson | null = null
  #wholeRevision = 0
  #revision = 0
  #peeked: Observation | null = null
  #isOfLines = false
  /** The newest of the documents that only repeat the last one that was added, with later counts; '': none. */
  #repeat = ''

  constructor(head: ResponseHead, format: BodyFormat) {
    this.#head = head
    this.#format = format
    this.#projection = projectionWithAnswerId(format.projection)
    this.#awaitsFirst = format.namesItselfFirst
    this.#accumulator = format.createAccumulator()
  }

  get wantsEvery(): boolean {
    return this.#awaitsFirst || this.#accumulator.wantsEvery
  }

  get revision(): number {
    return this.#whole === null ? this.#revision : this.#whole.revision
  }

  /** The last that `revision` announced are running counts, which only `peek` reads. */
  get isRunning(): boolean {
    return this.#repeat !== ''
  }

  get hasNoUsage(): boolean {
    return this.#reader?.hasNoUsage === true
  }

  get standing(): Standing {
    if (!this.#format.laterReplaces || this.wantsEvery) return 'no'
    const { usageSource, failed } = this.#accumulator.snapshot(false)
    if (failed) return 'no'
    if (usageSource === 'partial') return 'running'
    return usageSource === 'none' && this.#isOfLines ? 'nothing' : 'no'
  }

  push(chunk: Uint8Array): void {
    const bytes = asBuffer(chunk)
    if (this.#reader !== null) {
      this.#reader.push(bytes)
      return
    }
    const start = firstByteOfText(bytes)
    if (start === -1) return
    const wire = wireOf(bytes[start] ?? 0, contentTypeOf(this.#head), this.#format.isLines)
    const text = start === 0 ? bytes : bytes.subarray(start)
    this.#reader = wire === 'json' ? this.#beginDocument(text) : this.#begin(wire)
    this.#reader.push(text)
  }

  end(): Observation {
    this.#reader?.end()
    this.#addRepeat()
    this.#addWholeBody()
    return this.#snapshot(true)
  }

  peek(): Observation {
    this.#addRepeat()
    this.#addWholeBody()
    this.#peeked ??= this.#snapshot(false)
    return this.#peeked
  }

  add(extracted: Extracted, isError: boolean): void {
    if (extracted.value === undefined && !isError) return
    this.#addRepeat()
    this.#learnId(extracted)
    // Also by what needs no snapshot, such as another model's name.
    this.#peeked = null
    if (this.#accumulator.add(objectIn(extracted.value), extracted.raw, isError)) this.#revision += 1
  }

  repeated(text: string): void {
    this.#repeat = text
    this.#revision += 1
    this.#peeked = null
  }

  #addRepeat(): void {
    if (this.#repeat === '') return
    const { value, raw } = scanJson(Buffer.from(this.#repeat, 'latin1'), this.#projection)
    this.#repeat = ''
    this.#accumulator.add(objectIn(value), raw, false)
  }

  #learnId(extracted: Extracted): void {
    this.#awaitsFirst = false
    if (this.#answerId !== null) return
    this.#answerId = answerIdIn(extracted.value)
  }

  /** Most documents come in one piece, and what follows a document does not count. */
  #beginDocument(bytes: Buffer): DocumentReader {
    const plain = readPlainJson(bytes, this.#projection)
    if (plain !== null) {
      this.#whole = plain
      return IGNORE
    }
    const scanner = new JsonScanner(this.#projection)
    this.#whole = scanner
    return scanner
  }

  #begin(wire: Exclude<Wire, 'json'>): DocumentReader {
    switch (wire) {
      case 'lines':
        this.#isOfLines = true
        return createLineSplitter(elementSink(this.#projection, this), undefined, this.#repeats())
      case 'array': {
        const splitter = createArraySplitter(elementSink(this.#projection, this))
        return { push: (bytes) => splitter.push(bytes), end: () => {} }
      }
      case 'sse':
        return sseReader(this.#projection, this.#format.prefilter, this, this.#repeats())
      case 'other':
        return IGNORE
      default:
        return wire satisfies never
    }
  }

  #repeats(): Repeats | null {
    return this.#format.laterReplaces ? new Repeats(this.#projection, this, this.#isOfLines) : null
  }

  /** A whole document is read again from what has been extracted of it so far. */
  #addWholeBody(): void {
    if (this.#whole === null || this.#whole.revision === this.#wholeRevision) return
    if (this.#wholeRevision > 0) this.#accumulator = this.#format.createAccumulator()
    this.#wholeRevision = this.#whole.revision
    const { value, raw } = this.#whole.extracted
    this.#accumulator.add(objectIn(value), raw, false)
    // The answer's id need not be the first of several that it may have.
    this.#answerId = answerIdIn(value)
    this.#peeked = null
  }

  /** A body that carries an error is news only under a success status. */
  #snapshot(ended: boolean): Observation {
    const observation = withTierOfHead(this.#accumulator.snapshot(ended), this.#head)
    const id = answerIdInHead(this.#head) ?? this.#answerId
    const isNews = !observation.failed || this.#head.status < 400
    if (id === null) return isNews ? observation : { ...observation, failed: false }
    return { ...observation, failed: observation.failed && isNews, answerId: id }
  }
}
