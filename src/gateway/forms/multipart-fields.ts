import { GatewayError } from '../../http/errors.ts'
import { AskedSize, saysNumber } from '../bodies/asked-size.ts'
import { foldName, namesOthers } from '../bodies/scanned-values.ts'

/** No model has a longer name. */
const MAX_VALUE_BYTES = 1024
const MAX_HEAD_BYTES = 8 * 1024
/** Clients' libraries send some dozen. */
const MAX_PARTS = 1_000
/** Of a form with more. */
export function refuseParts(): GatewayError {
  return new GatewayError('invalid_request', { message: `Send a form of at most ${MAX_PARTS} parts.` })
}
const CRLF = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const DASHES = Buffer.from('--')
const EMPTY = Buffer.alloc(0)

/** What the headers of one part of a form say. */
export interface PartHead {
  readonly name: string
  /** The part has a file name, so servers take it for a file. */
  readonly isFile: boolean
}

// No part of the pattern may match in two ways: the time for spaces would be quadratic.
const HEADER = /^([!#$%&'*+.^_`|~\w-]+):(.*)$/
const DISPOSITION_PARAMETER = /\s*;\s*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))/gy
/** Codings of a part's content that leave it as it is. */
const PLAIN_CODING = /^(?:binary|8bit|7bit)\s*$/i

/**
 * Reads a part's headers, given without their last line end. `null`: servers could read them differently.
 * That is so for other headers than one `content-disposition: form-data` with a name, folded lines, escapes
 * in the name, and encoded content.
 */
export function readPartHead(head: string): PartHead | null {
  let disposition: string | null = null
  for (const line of head.split('\r\n')) {
    const [, name = '', value = ''] = HEADER.exec(line) ?? []
    // Other line ends, and NUL, which some servers take for an end.
    if (name === '' || /[\r\n\0]/.test(value)) return null
    switch (name.toLowerCase()) {
      case 'content-disposition':
        if (disposition !== null) return null
        disposition = value.trimStart()
        break
      case 'content-transfer-encoding':
        if (!PLAIN_CODING.test(value.trimStart())) return null
        break
      default:
    }
  }
  return disposition === null ? null : readDisposition(disposition)
}

function readDisposition(value: string): PartHead | null {
  const type = /^form-data(?=\s*;)/i.exec(value)?.[0]
  if (type === undefined) return null
  const parameters = value.slice(type.length)
  const found = new Map<string, string>()
  let end = 0
  for (const [text, key = '', quoted, token] of parameters.matchAll(DISPOSITION_PARAMETER)) {
    end += text.length
    const lowerKey = key.toLowerCase()
    if (found.has(lowerKey)) return null
    found.set(lowerKey, quoted ?? token ?? '')
  }
  const rest = parameters.slice(end).trim()
  if (rest !== '' && rest !== ';') return null
  const name = found.get('name')
  // Some servers undo escapes and encodings in a name, and others do not.
  if (name === undefined || found.has('name*') || /[\\%]/.test(name)) return null
  // A quote within a file name ends it for servers that know no escapes. They may take what follows for
  // another name.
  const fileName = found.get('filename') ?? ''
  if (fileName.includes('\\"') && /name/i.test(fileName)) return null
  return { name, isFile: found.has('filename') || found.has('filename*') }
}

/** Gets a form's parts as they pass. Bytes of a part come in order, and are only lent. */
export interface PartSink {
  begin(part: PartHead): void
  bytes(bytes: Buffer): void
  end(): void
}

/** Where the reading of a form stands. `broken`: at a place where servers could read on differently. */
type State = 'start' | 'delimited' | 'head' | 'content' | 'epilogue' | 'broken'

/**
 * Reads the fields that the gateway needs of a form (RFC 7578) as its bytes pass, in pieces of any size. It
 * keeps at most the headers of a part, or a short value. It is strict, so that every server reads what it
 * reads: whatever lenient parsers read differently makes the form unreadable. Examples are a boundary within
 * a line, text around the form, and escapes in headers.
 */
export class MultipartFields {
  readonly #delimiter: Buffer
  #state: State = 'start'
  /** Bytes whose meaning depends on the next ones. */
  #rest: Buffer = EMPTY
  #part: PartHead = { name: '', isFile: false }
  #value: Buffer[] = []
  #valueBytes = 0
  #parts = 0
  #models = 0
  #model: string | null = null
  #stream: string | null = null
  #namesOtherModels = false
  #sawFile = false
  /** How many answers the form asks for, so far. */
  readonly asked = new AskedSize()

  readonly #sink: PartSink | null

  /** @param boundary as `content-type` has it, without dashes. */
  constructor(boundary: string, sink: PartSink | null = null) {
    this.#sink = sink
    this.#delimiter = Buffer.from(`--${boundary}`, 'latin1')
  }

  /** `false`: so far, not a form that every server reads alike. */
  get readable(): boolean {
    return this.#state !== 'broken'
  }

  /** The form has ended, or the rest of it cannot be read. */
  get isOver(): boolean {
    return this.#state === 'epilogue' || this.#state === 'broken'
  }

  /** It is not read beyond `MAX_PARTS`: each costs time, however small it is. */
  get hasTooManyParts(): boolean {
    return this.#parts > MAX_PARTS
  }

  /** A file's part has begun. */
  get sawFile(): boolean {
    return this.#sawFile
  }

  /**
   * The field `model`. `null`: it has not come, is too long or stands there twice, or the form is not
   * readable.
   */
  get model(): string | null {
    return this.readable && this.#models === 1 ? this.#model : null
  }

  /** The form is readable, has not ended and has named no model yet. */
  get modelMayFollow(): boolean {
    return !this.isOver && this.#models === 0
  }

  get duplicateModel(): boolean {
    return this.#models > 1
  }

  get namesOtherModels(): boolean {
    return this.#namesOtherModels
  }

  /** What the field `stream` asks for; `null`: it does not say. */
  get stream(): boolean | null {
    if (this.#stream === null) return null
    if (/^(?:true|1)$/i.test(this.#stream)) return true
    return /^(?:false|0)$/i.test(this.#stream) ? false : null
  }

  push(chunk: Buffer): void {
    if (this.#state === 'broken') return
    let data: Buffer | null = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = EMPTY
    while (data !== null && data.length > 0) data = this.#step(data)
  }

  /** The bytes that are left to read; `null`: `#rest` waits for more. */
  #step(data: Buffer): Buffer | null {
    switch (this.#state) {
      case 'start':
        return this.#atStart(data)
      case 'delimited':
        return this.#behindDelimiter(data)
      case 'head':
        return this.#inHead(data)
      case 'content':
        return this.#inContent(data)
      case 'epilogue':
        return data.every(isSpace) ? null : this.#break()
      case 'broken':
        return null
      default:
        return this.#state satisfies never
    }
  }

  #atStart(data: Buffer): Buffer | null {
    const known = Math.min(data.length, this.#delimiter.length)
    if (data.compare(this.#delimiter, 0, known, 0, known) !== 0) return this.#break()
    if (known < this.#delimiter.length) return this.#wait(data)
    this.#state = 'delimited'
    return data.subarray(known)
  }

  #behindDelimiter(data: Buffer): Buffer | null {
    if (data.length < 2) return this.#wait(data)
    const next = data.subarray(0, 2)
    if (next.equals(CRLF)) this.#state = 'head'
    else if (next.equals(DASHES)) this.#state = 'epilogue'
    else return this.#break()
    return data.subarray(2)
  }

  #inHead(data: Buffer): Buffer | null {
    const end = data.indexOf(HEAD_END)
    if (end < 0) return data.length > MAX_HEAD_BYTES ? this.#break() : this.#wait(data)
    const part = end > MAX_HEAD_BYTES ? null : readPartHead(data.toString('latin1', 0, end))
    this.#parts += 1
    if (part === null || this.hasTooManyParts) return this.#break()
    this.#part = part
    this.#value = []
    this.#valueBytes = 0
    this.#sink?.begin(part)
    if (part.isFile) this.#sawFile = true
    const name = part.name.toLowerCase()
    // Some servers take `model[]` and similar names for lists.
    if (name === 'model' || name.startsWith('model[') || name.startsWith('model.')) {
      this.#models += 1
      if (part.isFile) return this.#break()
    }
    if (namesOthers(name.replace(/[[.].*$/, ''))) this.#namesOtherModels = true
    this.#state = 'content'
    return data.subarray(end + HEAD_END.length)
  }

  #inContent(data: Buffer): Buffer | null {
    const at = data.indexOf(this.#delimiter)
    if (at < 0) {
      // This holds back the line end before a delimiter, and as much of the delimiter as may have come.
      const keep = Math.min(data.length, this.#delimiter.length + CRLF.length - 1)
      this.#take(data.subarray(0, data.length - keep))
      return this.#wait(data.subarray(data.length - keep))
    }
    const end = at - CRLF.length
    if (end < 0 || !data.subarray(end, at).equals(CRLF)) return this.#break()
    this.#take(data.subarray(0, end))
    this.#endValue()
    this.#state = 'delimited'
    return data.subarray(at + this.#delimiter.length)
  }

  #take(bytes: Buffer): void {
    this.#sink?.bytes(bytes)
    if (!isKept(this.#part)) return
    if (bytes.length === 0) return
    this.#valueBytes += bytes.length
    if (this.#valueBytes <= MAX_VALUE_BYTES) this.#value.push(Buffer.from(bytes))
  }

  #endValue(): void {
    this.#sink?.end()
    if (!isKept(this.#part)) return
    const { name } = this.#part
    const bytes = Buffer.concat(this.#value)
    const value = this.#valueBytes > MAX_VALUE_BYTES ? null : bytes.toString('utf8')
    if (name === 'model') this.#model = value
    else if (name === 'stream') this.#stream = value
    else this.asked.take(bytes, foldName(name), 0, bytes.length)
  }

  /** Copied, since the chunk that holds these bytes belongs to the stream. */
  #wait(data: Buffer): null {
    this.#rest = Buffer.from(data)
    return null
  }

  #break(): null {
    this.#state = 'broken'
    this.#rest = EMPTY
    return null
  }
}

function isKept({ name, isFile }: PartHead): boolean {
  return name === 'model' || name === 'stream' || (!isFile && saysNumber(foldName(name)))
}

function isSpace(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d || byte === 0x20 || byte === 0x09
}

const FORM = /^\s*multipart\/form-data\s*(;.*)$/i
/**
 * One parameter of a media type, quoted or not. Escapes are refused, since servers differ in how they undo
 * them.
 */
const PARAMETER = /;\s*([\w-]+)=(?:"([^"\\]*)"|([^\s";,]+))\s*/gy
/** RFC 2046, 5.1.1. */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/

/**
 * The boundary that every server finds in this `content-type` of a form. `null`: it has none, or servers
 * could find different ones (two of them, escapes, continuations).
 */
export function formBoundary(contentType: string): string | null {
  const parameters = FORM.exec(contentType)?.[1]
  if (parameters === undefined) return null
  let boundary: string | null = null
  let end = 0
  for (const [text, name = '', quoted, token] of parameters.matchAll(PARAMETER)) {
    end += text.length
    if (name.toLowerCase() !== 'boundary') continue
    if (boundary !== null) return null
    boundary = quoted ?? token ?? ''
  }
  return end === parameters.length && boundary !== null && BOUNDARY.test(boundary) ? boundary : null
}
