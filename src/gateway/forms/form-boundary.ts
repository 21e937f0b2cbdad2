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
