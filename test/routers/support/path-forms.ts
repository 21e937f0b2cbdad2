/** The same endpoint written another way, or nearly so; characters stand for bytes. */
export type PathForm = readonly [name: string, path: string]

const PREFIX = '{prefix}'
const ENCODED_PREFIX = '{encoded}'
const UPPER_PREFIX = '{upper}'
const BARE_PREFIX = '{bare}'

/**
 * Ways to write `path`, of which some router somewhere takes each for `path` itself. Each is put behind the upstream's
 * prefix, or has {@link withPrefix} put that in.
 */
export function pathForms(path: string): readonly PathForm[] {
  const [, first = '', ...others] = path.split('/')
  const rest = `/${others.join('/')}`
  const cut = path.lastIndexOf('/')
  const head = path.slice(0, cut)
  const last = path.slice(cut + 1)
  const parent = head.slice(head.lastIndexOf('/') + 1)
  const allButLast = path.slice(0, -1)
  const lastLetter = path.slice(-1)
  return [
    // As it is, and slashes.
    ['plain', path],
    ['slash behind', `${path}/`],
    ['two slashes behind', `${path}//`],
    ['three slashes behind', `${path}///`],
    ['two slashes before the last segment', `${head}//${last}`],
    ['two slashes in front', `/${path}`],
    ['three slashes in front', `//${path}`],
    ['two slashes after the first segment', `/${first}/${rest}`],
    // Dots.
    ['dot after the first segment', `/${first}/.${rest}`],
    ['dot before the last segment', `${head}/./${last}`],
    ['dot behind', `${path}/.`],
    ['dot and slash behind', `${path}/./`],
    ['dot in front', `/.${path}`],
    ['encoded dot before the last segment', `${head}/%2e/${last}`],
    ['encoded dot in front', `/%2E${path}`],
    ['encoded dot behind', `${path}/%2e`],
    ['dot and encoded slash', `${head}/.%2f${last}`],
    ['up and down', `${head}/x/../${last}`],
    ['up and down, encoded', `${head}/%2e%2e/${parent}/${last}`],
    ['up and down, half encoded', `${head}/.%2e/${parent}/${last}`],
    ['up and down, all encoded', `${head}%2f%2e%2e%2f${parent}%2f${last}`],
    ['up and down behind', `${path}/x/..`],
    ['up and down behind, encoded', `${path}/x/%2e%2e`],
    ['up and down behind a decoy', `/v1/models/..${path.startsWith('/v1/') ? rest : path}`],
    ['up and down behind a decoy, encoded', `/v1/models/%2e%2e%2f${others.join('/')}`],
    ['up by backslash', `${head}/x\\..\\${last}`],
    // Percent-encoding.
    ['last letter encoded', `${allButLast}${encode(lastLetter)}`],
    ['first letter of the last segment encoded', `${head}/${encode(last.slice(0, 1))}${last.slice(1)}`],
    [
      'a letter encoded in lower-case hex',
      `${head}/${encode(last.slice(0, 1)).toLowerCase()}${last.slice(1)}`,
    ],
    ['a letter of the parent encoded', `${head.slice(0, -1)}${encode(head.slice(-1))}/${last}`],
    ['first segment encoded', `/${encode(first)}${rest}`],
    ['every letter encoded', path.split('/').map(encode).join('/')],
    ['everything encoded', `/${encode(path.slice(1))}`],
    ['everything encoded, the first slash too', `/${encode(path)}`],
    ['another case, encoded', `${head}/${encode(last.slice(0, 1).toUpperCase())}${last.slice(1)}`],
    ['encoded slash, upper-case hex', `${head}%2F${last}`],
    ['encoded slash, lower-case hex', `${head}%2f${last}`],
    ['encoded slash after the first segment', `/${first}%2F${others.join('/')}`],
    ['two encoded slashes', `${head}%2f%2f${last}`],
    ['slash and encoded slash', `${head}/%2f${last}`],
    ['encoded slash in front', `/%2f${path.slice(1)}`],
    ['encoded slash behind', `${path}%2f`],
    ['encoded backslash', `${head}%5c${last}`],
    ['encoded twice', `${allButLast}${encode(lastLetter).replace('%', '%25')}`],
    ['slash encoded twice', `${head}%252f${last}`],
    ['%u escape', `${allButLast}%u00${encode(lastLetter).slice(1)}`],
    ['percent sign alone behind', `${path}%`],
    ['half an escape behind', `${path}%7`],
    ['an escape that is none', `${path}%zz`],
    ['encoded delete behind', `${path}%7f`],
    ['encoded byte behind', `${path}%ff`],
    // Case.
    ['upper case', path.toUpperCase()],
    ['capital', `${head}/${last.slice(0, 1).toUpperCase()}${last.slice(1)}`],
    ['last letter upper case', `${allButLast}${lastLetter.toUpperCase()}`],
    ['first segment upper case', `/${first.toUpperCase()}${rest}`],
    ['long s', path.replace(/s(?!.*s)/, '%C5%BF')],
    ['fullwidth letter, encoded', `${allButLast}${fullwidth(lastLetter)}`],
    ['fullwidth letter, raw bytes', `${allButLast}${unescapeBytes(fullwidth(lastLetter))}`],
    ['fullwidth slash', `${head}%EF%BC%8F${last}`],
    // Overlong UTF-8.
    ['overlong slash', `${head}%c0%af${last}`],
    ['overlong letter', `${allButLast}${overlong(lastLetter)}`],
    ['overlong dots', `${head}/%c0%ae/${last}`],
    // Parameters of segments.
    ['parameter behind', `${path};x=1`],
    ['empty parameter behind', `${path};`],
    ['parameter and segment behind', `${path};/x`],
    ['parameter in the middle', `${head};a=b/${last}`],
    ['parameter in the first segment', `/${first};x${rest}`],
    ['segment that is a parameter', `${head}/;x/${last}`],
    ['up by a segment with a parameter', `${path}/..;/${last}`],
    ['parameter in the last segment', `${head}/${last.slice(0, 1)};x${last.slice(1)}`],
    ['parameter before a colon', `${head}/${last.replace(':', ';x:')}`],
    ['encoded parameter before a colon', `${head}/${last.replace(':', '%3bx:')}`],
    ['encoded colon', `${head}/${last.replace(':', '%3a')}`],
    ['encoded colon, upper-case hex', `${head}/${last.replace(':', '%3A')}`],
    ['colon encoded twice', `${head}/${last.replace(':', '%253a')}`],
    ['encoded question mark before a colon', `${head}/${last.replace(':', '%3f:')}`],
    ['encoded space before a colon', `${head}/${last.replace(':', '%20:')}`],
    ['encoded slash before a colon', `${head}/${last.replace(':', '%2fx:')}`],
    ['encoded parameter behind', `${path}%3bx=1`],
    ['encoded parameter in the middle', `${head}%3Bx/${last}`],
    // What stands behind.
    ['encoded space behind', `${path}%20`],
    ['plus behind', `${path}+`],
    ['encoded tab behind', `${path}%09`],
    ['tab behind', `${path}\t`],
    ['encoded NUL behind', `${path}%00`],
    ['encoded NUL and a decoy behind', `${path}%00/v1/models`],
    ['encoded line feed behind', `${path}%0a`],
    ['encoded line end behind', `${path}%0d%0a`],
    ['a second request in the path', `${path}%20HTTP/1.1%0d%0aX:%20`],
    ['zero-width space behind', `${path}%E2%80%8B`],
    ['no-break space behind', `${path}%C2%A0`],
    ['encoded space before the last segment', `${head}/%20${last}`],
    ['dot without a slash behind', `${path}.`],
    ['extension', `${path}.json`],
    ['raw byte behind', `${path}\xa0`],
    ['quote behind', `${path}"`],
    ['bar behind', `${path}|`],
    ['caret behind', `${path}^`],
    ['ampersand behind', `${path}&x=1`],
    ['backslash', `${head}\\${last}`],
    ['backslash behind', `${path}\\`],
    ['backslash in front', `\\${path.slice(1)}`],
    // Queries and fragments.
    ['empty query', `${path}?`],
    ['query with a path', `${path}?x=/foo`],
    ['query that is a path', `${path}?/v1/models`],
    ['query with a fragment', `${path}?x=1#/v1/models`],
    ['two question marks', `${path}??x`],
    ['encoded question mark', `${path}%3f`],
    ['encoded question mark and a decoy', `${path}%3f/v1/models`],
    ['encoded question mark and what is free', `${path}%3f/tokenize`],
    ['encoded question mark and what is billed later', `${path}%3f/v1/messages/batches`],
    ['encoded fragment and what is free', `${path}%23/tokenize`],
    ['question mark and an encoded one', `${path}?%3f`],
    ['encoded question mark and a plain one', `${path}%3f?x=1`],
    ['slash and query behind', `${path}/?x=1`],
    ['fragment', `${path}#`],
    ['fragment with a decoy', `${path}#/v1/models`],
    ['fragment before the last segment', `${head}#/${last}`],
    ['encoded fragment', `${path}%23`],
    ['encoded fragment with a decoy', `${path}%23/v1/models`],
    ['decoy with the path in its query', `/v1/models?${path}`],
    ['decoy with the path in its fragment', `/v1/models#${path}`],
    ['decoy with the path behind an encoded question mark', `/v1/models%3f${path}`],
    ['query before the last segment', `${head}?/${last}`],
    // The whole target.
    ['absolute form', `http://gateway.test${PREFIX}${path}`],
    ['absolute form with a fragment', `http://gateway.test${PREFIX}${path}#x`],
    ['absolute form without a path', `http://gateway.test?${PREFIX}${path}`],
    ['absolute form, another scheme', `https://gateway.test${PREFIX}${path}`],
    ['host in front', `//gateway.test${PREFIX}${path}`],
    ['user in front', `http://x@gateway.test${PREFIX}${path}`],
    ['prefix encoded', `${ENCODED_PREFIX}${path}`],
    ['prefix in upper case', `${UPPER_PREFIX}${path}`],
    ['two slashes before the prefix', `/${PREFIX}${path}`],
    ['dot before the prefix', `/.${PREFIX}${path}`],
    ['encoded slash behind the prefix', `${PREFIX}%2f${path.slice(1)}`],
    ['parameter on the prefix', `${PREFIX};x${path}`],
    ['no slash in front', `${BARE_PREFIX}${path}`],
    ['up from another upstream', `/other/..${PREFIX}${path}`],
    ['up from another upstream, encoded', `/other/%2e%2e${PREFIX}${path}`],
    ['up from the own prefix, encoded', `${PREFIX}/%2e%2e${PREFIX}${path}`],
  ]
}

/** The target of a form: the upstream's prefix in front of it, or where it asks for it. */
export function withPrefix(prefix: string, path: string): string {
  if (!path.includes('{')) return `${prefix}${path}`
  return path
    .replaceAll(PREFIX, prefix)
    .replace(ENCODED_PREFIX, `/${encode(prefix.slice(1))}`)
    .replace(UPPER_PREFIX, prefix.toUpperCase())
    .replace(BARE_PREFIX, prefix.slice(1))
}

function encode(text: string): string {
  return [...Buffer.from(text, 'latin1')]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('')
}

/** The letter in two bytes where one would do. */
function overlong(letter: string): string {
  const code = letter.charCodeAt(0)
  return encode(String.fromCharCode(0xc0 | (code >> 6), 0x80 | (code & 0x3f)))
}

/** U+FF41 and on: what compatibility normalisation makes ASCII of. */
function fullwidth(letter: string): string {
  return encodeURIComponent(String.fromCharCode(letter.charCodeAt(0) + 0xfee0))
}

function unescapeBytes(text: string): string {
  return text.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
