import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable, Transform, type TransformCallback } from 'node:stream'
import { setReadIdleTimeout, setUploadIdleTimeout } from '../../http/socket-timeouts.ts'
import type { RequestScan } from '../bodies/request-body.ts'
import { MultipartFields, type PartSink, refuseParts } from './multipart-fields.ts'
import { SoundFiles } from './sound-length.ts'

/** The upload was cut: the form leaves in doubt which model it is for, or asks for more than was taken of limits. */
export class FormInDoubt extends Error {}

/** How much of a form is held while its fields are read. */
const HELD_BYTES = 64 * 1024
/** More answers than this no provider gives to a form. */
const MOST_ANSWERS = 10

/** A form whose first fields were read. Its rest waits in the connection. */
export class FormUpload {
  readonly #request: IncomingMessage
  readonly #fields: MultipartFields
  readonly #held: readonly Buffer[]
  /** The whole form is held. */
  readonly isWhole: boolean
  /** How long the sound of its files is; `null`: that is not known, or not all was read. Absent: it is not for that. */
  readonly soundMs: (() => number | null) | undefined

  constructor(
    request: IncomingMessage,
    fields: MultipartFields,
    held: readonly Buffer[],
    isWhole: boolean,
    sound: SoundFiles | null,
  ) {
    this.soundMs = sound === null ? undefined : () => (fields.readable ? sound.lengthMs : null)
    this.#request = request
    this.#fields = fields
    this.#held = held
    this.isWhole = isWhole
  }

  /** Whether a `model` may follow in the bytes that have not come yet. */
  get modelMayFollow(): boolean {
    return !this.isWhole && this.#fields.modelMayFollow
  }

  /** What it is about is named, as far as the form is known: no client writes so much before a file. */
  get hasNoFile(): boolean {
    return !this.#fields.sawFile
  }

  /** The fields so far, as if they stood in a JSON body. */
  get scan(): RequestScan {
    const { readable, model, duplicateModel, namesOtherModels, stream, asked, isOver } = this.#fields
    const isKnown = asked.largestNumber > 0 || (readable && (this.isWhole || isOver))
    asked.mayAsk = isKnown ? 0 : MOST_ANSWERS
    return {
      readable,
      model,
      modelStart: -1,
      modelEnd: -1,
      duplicateModel,
      namesOtherModels,
      stream,
      hasOddStream: false,
      duplicateStream: false,
      streamEnd: -1,
      streamOptions: null,
      mayBeKept: true,
      asked,
      members: new Map(),
      isWantedInDoubt: false,
    }
  }

  /**
   * The form's bytes from its beginning, untouched. Fields after the first file are read as they pass. Of one that is held
   * as a whole this may be called again.
   *
   * @param onModel called when the form names another model than was known, or leaves in doubt which. The
   *   upload goes on only if this returns `true`. It is asked before those bytes go on, so that no server
   *   gets the whole form.
   * @param onMore the same where the form asks for more answers than could be known, or `ofModels`: names others that may
   *   answer in place of its model.
   * @param isAnswered as of {@link streamedBody}
   */
  body(
    onModel: (model: string | null) => boolean,
    onMore: (ofModels: boolean) => boolean,
    isAnswered: () => boolean,
  ): Readable {
    const reading = new ReadingTransform(this.#fields, this.soundMs !== undefined, onModel, onMore)
    for (const chunk of this.#held) reading.passed(chunk)
    if (this.isWhole) {
      reading.end()
      return reading
    }
    return pipeUpload(this.#request, reading, isAnswered)
  }
}

/**
 * Reads the beginning of a form, until a file begins or 64 KiB have come. Calls back once; `null`: the client
 * left. Then the request is paused until its body is asked for. A client that is idle for too long meanwhile
 * loses its connection.
 *
 * @param holdsSmall One that is announced to have no more than 64 KiB is read to its end, so that it can be sent again.
 */
export function readFormStart(
  request: IncomingMessage,
  { boundary, hasSound }: { readonly boundary: string; readonly hasSound: boolean },
  holdsSmall: boolean,
  done: (form: FormUpload | null) => void,
): void {
  const sound = hasSound ? new SoundFiles() : null
  const fields = new MultipartFields(boundary, sound === null ? null : partsTo(sound))
  const held: Buffer[] = []
  let bytes = 0
  const announced = request.headers['content-length']
  const isSmall = holdsSmall && announced !== undefined && Number(announced) <= HELD_BYTES
  const endLimit = setReadIdleTimeout(request)
  const stop = (result: 'rest follows' | 'whole' | 'gone') => {
    endLimit()
    request.off('data', onData)
    request.off('end', onEnd)
    request.off('close', onClose)
    done(result === 'gone' ? null : new FormUpload(request, fields, held, result === 'whole', sound))
  }
  const onData = (chunk: Buffer) => {
    held.push(chunk)
    bytes += chunk.length
    fields.push(chunk)
    if ((isSmall || !fields.sawFile) && fields.readable && bytes < HELD_BYTES) return
    request.pause()
    stop('rest follows')
  }
  const onEnd = () => stop('whole')
  const onClose = () => stop('gone')
  request.on('data', onData)
  request.on('end', onEnd)
  request.on('close', onClose)
}

function partsTo(sound: SoundFiles): PartSink {
  let isFile = false
  return {
    begin(part) {
      isFile = part.isFile
      if (isFile) sound.begin()
    },
    bytes(bytes) {
      if (isFile) sound.push(bytes)
    },
    end() {
      if (isFile) sound.end()
    },
  }
}

/** Shows the bytes that pass to the reader of the fields first. */
class ReadingTransform extends Transform {
  readonly #fields: MultipartFields
  readonly #hasSound: boolean
  readonly #onModel: (model: string | null) => boolean
  readonly #onMore: (ofModels: boolean) => boolean
  readonly #answers: number
  readonly #namedOthers: boolean
  #model: string | null

  constructor(
    fields: MultipartFields,
    hasSound: boolean,
    onModel: (model: string | null) => boolean,
    onMore: (ofModels: boolean) => boolean,
  ) {
    super()
    this.#hasSound = hasSound
    this.#fields = fields
    this.#namedOthers = fields.namesOtherModels
    this.#model = fields.model
    this.#answers = fields.asked.largestNumber || MOST_ANSWERS
    this.#onModel = onModel
    this.#onMore = onMore
  }

  /** A chunk that has been read already. */
  passed(chunk: Buffer): void {
    this.push(chunk)
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#fields.push(chunk)
    if (this.#hidesSound) {
      done(refuseParts())
      return
    }
    const { model } = this.#fields
    if (model !== this.#model) {
      this.#model = model
      if (!this.#onModel(model)) {
        done(new FormInDoubt('the form leaves in doubt which model it is for'))
        return
      }
    }
    if (this.#fields.namesOtherModels && !this.#namedOthers && !this.#onMore(true)) {
      done(new FormInDoubt('the form leaves in doubt which model it is for'))
      return
    }
    if (this.#fields.asked.largestNumber > this.#answers && !this.#onMore(false)) {
      done(new FormInDoubt('the form asks for more answers than before its file'))
      return
    }
    done(null, chunk)
  }

  override _flush(done: TransformCallback): void {
    done(this.#hidesSound ? refuseParts() : null)
  }

  /** Files may follow that are not read. */
  get #hidesSound(): boolean {
    return this.#hasSound && this.#fields.hasTooManyParts
  }
}

/** Whether the request has a body. An announced length of 0 is none. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) !== 0)
}

/**
 * A body that goes upstream as it comes; `null`: there is none.
 *
 * @param isAnswered The upstream has begun to answer. A client that leaves then does not cut the answer with its upload:
 *   that is for those who read the answer.
 */
export function streamedBody(request: IncomingMessage, isAnswered: () => boolean): Readable | null {
  if (!announcesBody(request)) return null
  return pipeUpload(request, new PassThrough(), isAnswered)
}

/**
 * Pipes the rest of the request through `body`. This separates it from the request's own stream: otherwise an
 * upstream that closes would take the client's connection with it.
 */
function pipeUpload(request: IncomingMessage, body: Transform, isAnswered: () => boolean): Transform {
  setUploadIdleTimeout(request, () => !body.writableNeedDrain)
  request.on('close', () => {
    if (!request.complete && !isAnswered()) body.destroy(new Error('client left'))
  })
  return request.pipe(body)
}
