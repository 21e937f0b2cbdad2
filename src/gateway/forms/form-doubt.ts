import { WHOLE_BYTES } from '../../lib/sliced-work.ts'

const FORM = /^\s*multipart\/|form/i
const MULTIPART = /^\s*multipart\//i
/** A parameter `model`, behind another one, in a form that is written as a query. */
const MODEL = /[&;](?:m|%6d)(?:o|%6f)(?:d|%64)(?:e|%65)(?:l|%6c)/i

/**
 * Whether a server that takes forms where JSON is expected, as the body's `contentType` says, may find
 * another model in `body` than stands in its JSON: text that is both is easily written.
 */
export function namesModelAsForm(contentType: string | undefined, body: Buffer): boolean {
  if (contentType === undefined || !FORM.test(contentType)) return false
  if (MULTIPART.test(contentType)) return true
  // Nobody writes large bodies so, and the search is in one piece.
  return body.length > WHOLE_BYTES || MODEL.test(body.toString('latin1'))
}
