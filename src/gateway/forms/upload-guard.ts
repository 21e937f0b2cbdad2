import { type Readable, Transform, type TransformCallback } from 'node:stream'
import { type CallRefusal, GatewayError } from '../../http/errors.ts'
import { LINE_WALK } from '../../objects/names/name-paths.ts'
import { FormNames, TextNames } from '../../objects/names/text-names.ts'
import type { PartHead } from './multipart-fields.ts'
import { MultipartFields, type PartSink, refuseParts } from './multipart-fields.ts'

/** Whether an upload that names these ids may go on; at once where their owners are known. */
export type JudgeIds = (ids: readonly string[]) => CallRefusal | null | Promise<CallRefusal | null>

const UNREADABLE: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'Send a form that all servers read alike, and files of JSON in UTF-8.' },
}
const IN_PARTS: CallRefusal = {
  error: 'path_not_allowed',
  detail: { message: 'Upload the file of a batch in one request: its lines are read as they pass.' },
}

/** What is known of an upload before its first byte. */
export interface GuardedUpload {
  readonly canonicalPath: string
  /** Of its form; `null`: it is the file itself, or a form of another kind. */
  readonly boundary: string | null
  readonly isFile: boolean
}

/** `upload` as it goes on; it ends with a `GatewayError` where it names what its client may not use. */
export function guardUpload(upload: Readable, guarded: GuardedUpload, judge: JudgeIds): Readable {
  const guard = new UploadGuard(guarded, judge)
  upload.on('error', (error) => guard.destroy(error))
  upload.on('close', () => {
    if (!upload.readableEnded) guard.destroy(new Error('the upload broke off'))
  })
  guard.on('close', () => upload.destroy())
  return upload.pipe(guard)
}

/** Bytes go on once the owners of all that they name are known, so that no server gets the whole of a refused upload. */
class UploadGuard extends Transform {
  readonly #judge: JudgeIds
  readonly #file = new TextNames(LINE_WALK, true)
  readonly #fields: FormNames
  readonly #form: MultipartFields | null

  constructor(guarded: GuardedUpload, judge: JudgeIds) {
    super()
    this.#judge = judge
    this.#fields = new FormNames(guarded.canonicalPath)
    const { boundary, isFile } = guarded
    this.#form =
      boundary === null ? null : new MultipartFields(boundary, partsTo(this.#file, this.#fields, isFile))
    // A form of Google's has texts of its own before the file.
    this.#file.begin(true)
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (this.#form === null) this.#file.push(chunk)
    else this.#form.push(chunk)
    const refusal = this.#verdict()
    if (refusal instanceof Promise) {
      void refusal.then(
        (found) => pass(found, chunk, done),
        (error: unknown) => done(new GatewayError('storage_unavailable', { cause: error })),
      )
    } else {
      pass(refusal, chunk, done)
    }
  }

  #verdict(): CallRefusal | null | Promise<CallRefusal | null> {
    if (this.#form?.hasTooManyParts === true) return refuseParts()
    if (this.#file.isUnreadable || this.#form?.readable === false) return UNREADABLE
    if (this.#fields.readsWholeAccount) return IN_PARTS
    const [inFile, inFields] = [this.#file.takeIds(), this.#fields.takeIds()]
    if (inFile.length === 0 && inFields.length === 0) return null
    return this.#judge([...inFile, ...inFields])
  }
}

function pass(refusal: CallRefusal | null, chunk: Buffer, done: TransformCallback): void {
  if (refusal === null) done(null, chunk)
  else done(new GatewayError(refusal.error, refusal.detail))
}

/** Files that hold lines of a batch are read, and the values of fields. */
function partsTo(file: TextNames, fields: FormNames, isFile: boolean): PartSink {
  let part: PartHead = { name: '', isFile: false }
  let value: Buffer[] = []
  let bytesOfValue = 0
  return {
    begin(head) {
      part = head
      value = []
      bytesOfValue = 0
      if (head.isFile) file.begin(false)
    },
    bytes(bytes) {
      if (part.isFile) {
        if (isFile) file.push(bytes)
        return
      }
      bytesOfValue += bytes.length
      if (bytesOfValue <= FormNames.maxFieldBytes) value.push(Buffer.from(bytes))
    },
    end() {
      if (part.isFile || bytesOfValue > FormNames.maxFieldBytes) return
      fields.field(part.name, Buffer.concat(value).toString('utf8'))
    },
  }
}
