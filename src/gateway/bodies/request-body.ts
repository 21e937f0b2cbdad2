import { slicedWork, WHOLE_BYTES } from '../../lib/sliced-work.ts'
import { ObjectWalk } from '../../providers/wires/object-walk.ts'
import { AskedSize } from './asked-size.ts'
import {
  foldName,
  type Literal,
  literalAt,
  memberKey,
  memberName,
  modelText,
  namesOthers,
} from './scanned-values.ts'

/**
 * No request has so many keys at its top level. Reading one takes up to 2 µs, so a body full of keys would
 * take seconds.
 */
const MAX_MEMBERS = 1_000

/** Longer `stream_options` are not read. */
const MAX_STREAM_OPTIONS_BYTES = 16 * 1024

const STREAM_IN_OTHER_LETTERS = /^stream(?:_options)?$/i

/** Scanned between two readings of the clock: 0.6 ms at worst. */
const WINDOW_BYTES = 64 * 1024

type Findings = { -readonly [K in keyof RequestScan]: RequestScan[K] }

/**
 * Reads what the gateway needs of a request body, in one pass over its bytes. The rest is neither decoded nor
 * built: a body of 100 KB takes tens of microseconds, and one of 100 MB no memory. Never throws.
 *
 * It runs in one piece. For bodies that may be large, use {@link scanInSlices}.
 */
export function scanRequestBody(body: Buffer, wanted: Wanted = null): RequestScan {
  const scan = new BodyScan(body, wanted)
  scan.advance(body)
  while (scan.readOn(body.length));
  return scan.end()
}

/**
 * As {@link scanRequestBody}, but a body of more than {@link WHOLE_BYTES} is scanned in slices. The event
 * loop serves other calls between them, so this calls back in a later turn.
 *
 * @param isWanted asked before each slice; false ends the scan.
 * @param done gets `null` when the scan was not wanted any more.
 */
export function scanInSlices(
  clientId: string,
  body: Buffer,
  isWanted: () => boolean,
  done: (scan: RequestScan | null) => void,
  wanted: Wanted = null,
): void {
  if (body.length <= WHOLE_BYTES) {
    done(scanRequestBody(body, wanted))
    return
  }
  const scan = new BodyScan(body, wanted)
  let end = 0
  slicedWork.run(clientId, (deadline) => {
    if (!isWanted()) {
      done(null)
      return true
    }
    do {
      const isPassed = scan.isMalformed || end === body.length
      if (!isPassed) {
        end = Math.min(end + WINDOW_BYTES, body.length)
        scan.advance(body.subarray(0, end))
      } else if (!scan.readOn(WINDOW_BYTES)) {
        done(scan.end())
        return true
      }
    } while (performance.now() < deadline)
    return false
  })
}

/** Members of the top level that are looked for beside those that the gateway needs; `null`: none. */
export type Wanted = ReadonlySet<string> | null

const NO_MEMBERS: RequestScan['members'] = new Map()

/** The scan of one body, as far as it has come. */
class BodyScan {
  readonly #body: Buffer
  readonly #walk: ObjectWalk
  readonly #wanted: Wanted
  readonly #members: Map<string, readonly [start: number, end: number]> | null
  #models = 0
  readonly #found: Findings = {
    readable: false,
    model: null,
    modelStart: -1,
    modelEnd: -1,
    duplicateModel: false,
    namesOtherModels: false,
    stream: null,
    hasOddStream: false,
    duplicateStream: false,
    streamEnd: -1,
    streamOptions: null,
    mayBeKept: false,
    asked: new AskedSize(),
    members: NO_MEMBERS,
    isWantedInDoubt: false,
  }

  constructor(body: Buffer, wanted: Wanted) {
    this.#body = body
    this.#wanted = wanted
    this.#members = wanted === null ? null : new Map()
    if (this.#members !== null) this.#found.members = this.#members
    this.#walk = new ObjectWalk(
      bomEnd(body),
      MAX_MEMBERS,
      (keyStart, keyEnd, start, end, elements) => {
        if (wanted !== null) this.#keep(memberName(body, keyStart, keyEnd), start, end)
        this.#take(memberKey(body, keyStart, keyEnd), start, end, elements)
      },
      (start, end) => this.#found.asked.takeLongString(body, start, end),
    )
  }

  get isMalformed(): boolean {
    return this.#walk.isMalformed
  }

  /** @param window the first bytes of the body, or all of them. */
  advance(window: Buffer): void {
    this.#walk.advance(window)
  }

  /** Reads on, behind the last byte, in what was too long to be read as it passed. Gives whether there is more. */
  readOn(byteCount: number): boolean {
    return this.#found.asked.readOn(this.#body, byteCount)
  }

  end(): RequestScan {
    const found = this.#found
    found.readable = this.#walk.isWhole(this.#body)
    found.duplicateModel = this.#models > 1
    found.mayBeKept ||= !found.readable || this.#walk.hasTooManyMembers
    if (this.#walk.hasTooManyMembers) {
      // Another model may follow, and most parsers take the last one.
      found.model = null
      found.duplicateModel = true
    }
    return found
  }

  #keep(name: string, start: number, end: number): void {
    const isWanted = this.#wanted?.has(name) === true
    if (isWanted ? this.#members?.has(name) : this.#wanted?.has(foldName(name)))
      this.#found.isWantedInDoubt = true
    if (isWanted) this.#members?.set(name, [start, end])
  }

  #take(key: string, start: number, end: number, elements: number): void {
    const found = this.#found
    switch (key) {
      case 'model':
        found.model = modelText(this.#body, start, end)
        found.modelStart = start
        found.modelEnd = end
        this.#models++
        return
      case 'stream':
        if (found.streamEnd >= 0) found.duplicateStream = true
        this.#takeStream(literalAt(this.#body, start, end))
        found.streamEnd = end
        return
      case 'stream_options':
        if (found.streamOptions !== null) found.duplicateStream = true
        // The key stands there twice: such a body is never edited, and reading every value would take long.
        found.streamOptions = found.duplicateStream
          ? { kind: 'other', start, end, empty: true, includeUsage: null }
          : scanStreamOptions(this.#body, start, end)
        return
      default:
        if (key.length === 5 || key.length === 6) this.#takeFolded(foldName(key))
        if (namesOthers(key, this.#body, start, end)) found.namesOtherModels = true
        if (STREAM_IN_OTHER_LETTERS.test(key)) found.duplicateStream = true
        found.asked.take(this.#body, key, start, end, elements)
    }
  }

  #takeFolded(key: string): void {
    if (key === 'model') this.#models++
    else if (key === 'store') this.#found.mayBeKept = true
  }

  #takeStream(value: Literal): void {
    this.#found.stream = value === 'other' ? null : value
    this.#found.hasOddStream ||= value === 'other'
  }
}

function scanStreamOptions(body: Buffer, start: number, end: number): StreamOptions {
  let empty = true
  let includeUsage: IncludeUsage | null = null
  if (end - start <= MAX_STREAM_OPTIONS_BYTES) {
    const walk = new ObjectWalk(start, MAX_MEMBERS, (keyStart, keyEnd, valueStart, valueEnd) => {
      empty = false
      if (memberKey(body, keyStart, keyEnd) !== 'include_usage') return
      // The key stands there twice: what it means depends on the parser.
      const value = includeUsage ? 'other' : literalAt(body, valueStart, valueEnd)
      includeUsage = { value, start: valueStart, end: valueEnd }
    })
    const options = body.subarray(0, end)
    walk.advance(options)
    if (walk.isWhole(options)) return { kind: 'object', start, end, empty, includeUsage }
  }
  const kind = literalAt(body, start, end) === null ? 'null' : 'other'
  return { kind, start, end, empty: true, includeUsage: null }
}

function bomEnd(body: Buffer): number {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0
}

/** What one pass over a request body's top level found. Offsets refer to the scanned body. */
export interface RequestScan {
  /**
   * Whether the body is one JSON object whose top level every parser reads alike. Nothing but white space
   * stands around it (a byte order mark may precede it), and it has no more than 1,000 keys.
   * When `false`, the other fields describe what stands before the place where reading ended.
   */
  readonly readable: boolean
  /**
   * Without escapes. `null`: there is no key `model`, its value is not a string of at most 1 KiB, or there
   * are so many keys that another `model` may follow.
   */
  readonly model: string | null
  /** Where the value of `model` begins, with its quotes, and the offset after it; -1 without one. */
  readonly modelStart: number
  readonly modelEnd: number
  /**
   * `model` stands there more than once, or may. `Model` counts too, since Go's encoding/json takes it for
   * `model`.
   */
  readonly duplicateModel: boolean
  /** Another key, in whatever letters, names models that may serve the call: `models` (OpenRouter), LiteLLM's fallbacks. */
  readonly namesOtherModels: boolean
  /** `null`: the key is absent, or its value is neither `true` nor `false`. */
  readonly stream: boolean | null
  /** `stream` is there, and is neither a boolean nor `null`. */
  readonly hasOddStream: boolean
  /** `stream` or `stream_options` stands there more than once, or in other letters (`Stream`), as Go's servers take it. */
  readonly duplicateStream: boolean
  /** The offset after the value of `stream`; -1 without one. */
  readonly streamEnd: number
  readonly streamOptions: StreamOptions | null
  /** `store` stands there in whatever letters, or may: without it, completions are not kept. */
  readonly mayBeKept: boolean
  /** What it says of its size. */
  readonly asked: AskedSize
  /** Where the values of wanted members stand; of one that is there twice the last. */
  readonly members: ReadonlyMap<string, readonly [start: number, end: number]>
  /** One of these stands there more than once, or in other letters, as Go's servers take it. */
  readonly isWantedInDoubt: boolean
}

/** The value of `stream_options`. */
export interface StreamOptions {
  readonly kind: 'object' | 'null' | 'other'
  readonly start: number
  /** Exclusive. */
  readonly end: number
  readonly empty: boolean
  readonly includeUsage: IncludeUsage | null
}

/** The value of `include_usage` within the `stream_options`. */
interface IncludeUsage {
  readonly value: Literal
  readonly start: number
  /** Exclusive. */
  readonly end: number
}
