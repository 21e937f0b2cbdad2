/** Paths that are their own canonical form, as nearly all are. */
const PLAIN = /^(?:\/(?!\.{1,2}(?:\/|$))[\w~:@$*()!',=+&.-]+)+$/
/** Control characters, and what would end the path for a server that is sent what a proxy before it has decoded. */
const FORBIDDEN = /[\p{Cc}?#]/u
const ENCODED = /(?:%[0-9a-f]{2})+/gi
/** A server behind a proxy decodes what that has decoded already; nobody honest encodes more often. */
const MAX_DECODINGS = 4
/** The paths of all APIs are far shorter, and some patterns take time by the square of a path's length. */
const MAX_PATH = 4_096

/**
 * The path by which a call is judged: its dialect, the model it names, whether it may pass. Servers differ in which
 * spellings of a path they take for the same, so all that some server takes alike has one form here: percent-encoding
 * undone (`%2F` too, and repeatedly), other forms of a letter or a slash as the plain one, `\` as `/`, no empty and no
 * `.` segments, no `;parameters`, no spaces around a segment, no slash at the end. Letters keep their case, since models
 * are named in paths; compare without it.
 *
 * @param path An absolute path without its query, as the client sent it.
 * @returns '' for the root; `null` for a path that no upstream may get: it leaves its base (`..`), begins with `//`,
 * which some read as a host, holds a `#`, an encoded `?`, a control character or a colon behind parameters, or a percent
 * sign that encodes nothing, or is longer than 4 KiB.
 */
export function canonicalPath(path: string): string | null {
  if (path.length > MAX_PATH) return null
  if (PLAIN.test(path)) return path
  if (!path.startsWith('/') || path.startsWith('//') || path.includes('#')) return null
  const decoded = fullyDecoded(path)?.normalize('NFKC') ?? null
  if (decoded === null || FORBIDDEN.test(decoded)) return null
  let canonical = ''
  for (const raw of decoded.split(/[/\\]/)) {
    const parameters = raw.indexOf(';')
    // Whether what follows the colon is a parameter's or Google's method is anybody's guess.
    if (parameters !== -1 && raw.includes(':', parameters)) return null
    const segment = (parameters === -1 ? raw : raw.slice(0, parameters)).trim()
    if (segment === '..') return null
    if (segment !== '' && segment !== '.') canonical += `/${segment}`
  }
  return canonical
}

function fullyDecoded(path: string): string | null {
  let decoded = decodedOnce(path)
  for (let times = 1; decoded?.includes('%'); times += 1) {
    // From the second time on a percent sign may be one that was encoded itself.
    const next: string = decoded.replace(ENCODED, (encoded) => decodedOnce(encoded) ?? encoded)
    if (next === decoded) return decoded
    if (times === MAX_DECODINGS) return null
    decoded = next
  }
  return decoded
}

function decodedOnce(path: string): string | null {
  try {
    return decodeURIComponent(path)
  } catch {
    return null
  }
}
