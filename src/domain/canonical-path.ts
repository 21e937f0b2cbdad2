/** Paths that are their own canonical form, as nearly all are. */
const PLAIN = /^(?:\/(?!\.{1,2}(?:\/|$))[\w~:@$*()!',=+&.-]+)+$/
/** Control characters, and characters that end the path for a server behind a proxy that decodes it. */
const FORBIDDEN = /[\p{Cc}?#]/u
const ENCODED = /(?:%[0-9a-f]{2})+/gi
/**
 * A server behind a proxy decodes what the proxy has decoded already. No honest client encodes a path more
 * often.
 */
const MAX_DECODINGS = 4
/**
 * The paths of all APIs are far shorter, and some patterns take time that grows with the square of the
 * length.
 */
const MAX_PATH = 4_096

/**
 * The one form of a path by which a call is judged: its dialect, its model, and whether it may pass. Servers
 * differ in which spellings of a path they treat as the same. Spellings that any server treats alike have one
 * form here:
 *
 * - percent-encoding is undone, also of `%2F`, and repeatedly
 * - other forms of a letter or a slash become the plain one, and `\` becomes `/`
 * - empty segments, `.` segments, `;parameters`, spaces around a segment and a slash at the end are dropped
 *
 * Letters keep their case, since paths name models; compare without it.
 *
 * @param path an absolute path without its query, as the client sent it.
 * @returns '' for the root. `null` for a path that no upstream may get: it leaves its base (`..`) or begins
 *   with `//` or `/\`, which some servers read as a host. It holds a `#`, an encoded `?`, a control character,
 *   a colon after parameters or a stray percent sign. Or it is longer than 4 KiB.
 */
export function canonicalPath(path: string): string | null {
  if (path.length > MAX_PATH) return null
  if (PLAIN.test(path)) return path
  if (!path.startsWith('/') || path.includes('#')) return null
  // As URLs are parsed (WHATWG), a backslash is a slash there, too.
  if (path[1] === '/' || path[1] === '\\') return null
  const decoded = fullyDecoded(path)?.normalize('NFKC') ?? null
  if (decoded === null || FORBIDDEN.test(decoded)) return null
  let canonical = ''
  for (const raw of decoded.split(/[/\\]/)) {
    const parameters = raw.indexOf(';')
    // The text behind the colon may be a part of the parameter, or one of Google's methods: servers differ.
    if (parameters !== -1 && raw.includes(':', parameters)) return null
    const segment = (parameters === -1 ? raw : raw.slice(0, parameters)).trim()
    if (segment === '..') return null
    if (segment !== '' && segment !== '.') canonical += `/${segment}`
  }
  return canonical
}

function fullyDecoded(path: string): string | null {
  let decoded = percentDecoded(path)
  for (let times = 1; decoded?.includes('%'); times += 1) {
    // From the second time on, a percent sign may itself have been encoded.
    const next: string = decoded.replace(ENCODED, (encoded) => percentDecoded(encoded) ?? encoded)
    if (next === decoded) return decoded
    if (times === MAX_DECODINGS) return null
    decoded = next
  }
  return decoded
}

/** Text with its %-sequences decoded; `null`: not UTF-8, or not two hex digits. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
