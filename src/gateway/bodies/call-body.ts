import type { JsonObject } from '../../providers/reading/json-value.ts'
import type { FormUpload } from '../forms/form-upload.ts'

/** A request's body, as far as it was read before the call goes on. */
export interface CallBody {
  /** What goes upstream of a body that was read whole; `null`: it streams. */
  readonly sent: Buffer | null
  /** `sent` as its reader reads it: content codings undone, in UTF-8. */
  readonly plain: Buffer | null
  /** `sent` was edited to ask for the usage, and is plain, whatever coding the client's had. */
  readonly isEdited: boolean
  readonly form: FormUpload | null
  /** Where a form goes, or that it may be sent, rests on the model that it names. */
  readonly modelDecided: boolean
  /** What the endpoint's dialect wants to know of it; `null`: nothing, or it leaves that in doubt. */
  readonly fields: JsonObject | null
}

export const UNREAD_BODY: CallBody = {
  sent: null,
  plain: null,
  isEdited: false,
  form: null,
  modelDecided: false,
  fields: null,
}

export function editedBody(edited: Buffer): CallBody {
  return { sent: edited, plain: edited, isEdited: true, form: null, modelDecided: false, fields: null }
}
