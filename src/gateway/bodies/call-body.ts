import type { JsonObject } from '../../providers/reading/json-value.ts'
import type { FormUpload } from '../forms/form-upload.ts'
import type { BodyRoom } from './body-budget.ts'
import type { RequestScan } from './request-body.ts'

/** A request's body, as far as it was read before the call goes on. */
export interface CallBody {
  /** What goes upstream of a body that was read whole; `null`: it streams. */
  readonly sent: Buffer | null
  /** `sent` as its reader reads it: content codings undone, in UTF-8. */
  readonly plain: Buffer | null
  /** Both are in it; released when the call is over. */
  readonly room: BodyRoom | null
  /** What its top level, or the first fields of a form, say; `null`: not read. */
  readonly scan: RequestScan | null
  readonly form: FormUpload | null
  /** `sent` was edited to ask for the usage, and is plain, whatever coding the client's had. */
  readonly isEdited: boolean
  /** What the endpoint's dialect wants to know of it; `null`: nothing, or it leaves that in doubt. */
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
