import type { FormUpload } from './form-upload.ts'

/** A request's body, as far as it was read before the call goes on. */
export interface CallBody {
  /** What the client sent, where it was read whole; `null`: it streams. */
  readonly sent: Buffer | null
  /** `sent` as its reader reads it: content codings undone, in UTF-8. */
  readonly plain: Buffer | null
  /** What it takes of the room for bodies. */
  readonly heldBytes: number
  readonly form: FormUpload | null
  /** Where a form goes, or that it may be sent, rests on the model that it names. */
  readonly modelDecided: boolean
}

export const UNREAD_BODY: CallBody = {
  sent: null,
  plain: null,
  heldBytes: 0,
  form: null,
  modelDecided: false,
}
