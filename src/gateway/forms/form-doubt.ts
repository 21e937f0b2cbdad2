import { WHOLE_BYTES } from '../../lib/sliced-work.ts'

const FORM = /^\s*multipart\/|form/i
const MULTIPART = /^\s*multipart\//i
/** A parameter `model`, after another one, in a form that is written like a query. */
const MODEL = /[&;](?:m|%6d)(?:o|%6f)(?:d|%64)(?:e|%65)(?:l|%6c)/i

/**
 * Whether a server may take `body`, sent as `contentType` where JSON is expected, for a form that names
 * another model than its JSON does. A text that is both is easy to write.
 */
export function namesModelAsForm(contentType: string | undefined, body: Buffer): boolean {
  if (contentType === undefined || !FORM.test(contentType)) return false
  if (MULTIPART.test(contentType)) return true
  // No honest client writes large bodies like this, and the search runs in one piece.
  return body.length > WHOLE_BYTES || MODEL.test(body.toString('latin1'))
}
