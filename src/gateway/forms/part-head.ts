/** What the headers of one part of a form say. */
export interface PartHead {
  readonly name: string
  /** The part has a file name, so servers take it for a file. */
  readonly isFile: boolean
}

// No part of the pattern may match in two ways: the time for spaces would be quadratic.
const HEADER = /^([!#$%&'*+.^_`|~\w-]+):(.*)$/
const PARAMETER = /\s*;\s*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))/gy
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
  for (const [text, key = '', quoted, token] of parameters.matchAll(PARAMETER)) {
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
