import type { JsonObject } from '../../providers/reading/json-value.ts'
import type { FormUpload } from '../forms/form-upload.ts'
import type { BodyRoom } from './body-room.ts'
import type { RequestScan } from './request-scan.ts'

/** A request's body, as far as it was read before the call goes on. */
export interface CallBody {
  /** The bytes that go upstream of a body that was read whole; `null`: it streams. */
  readonly sent: Buffer | null
  /** `sent` as its reader gets it: content codings undone, in UTF-8. */
  readonly plain: Buffer | null
  /** Holds the room of both, until the call is over. */
  readonly room: BodyRoom | null
  /** What its top level says, or the first fields of a form; `null`: not read. */
  readonly scan: RequestScan | null
  readonly form: FormUpload | null
  /**
   * `sent` was edited to ask for the usage. Then it has no content coding, whatever the client's body had.
   */
  readonly isEdited: boolean
  /** What the endpoint's dialect needs to know of it; `null`: nothing, or the body leaves it in doubt. */
  readonly fields: JsonObject | null
}

export const UNREAD_BODY: CallBody = {
  sent: null,
  plain: null,
  room: null,
  scan: null,
  form: null,
  isEdited: false,
  fields: null,
}
