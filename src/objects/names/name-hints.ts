// Whether a body may name an object at all: nearly no chat does, and a search for parts of names costs less than a
// walk.

const BACKSLASH = 0x5c
const LOWER_U = 0x75
const UNDERSCORE = 0x5f
/** The second byte of an escape: the native search runs along the first byte, and backslashes are frequent in text. */
const ESCAPED = Buffer.from('00')
/** Beyond, one search for each needle costs less than a call for each underscore. */
const MAX_UNDERSCORES = 16
/** Places looked at for one needle: beyond, a walk takes turns with other calls. */
const MAX_PLACES = 1_000
/** Longer bodies are walked. */
const MAX_BYTES = 1024 * 1024

interface Needle {
  readonly bytes: Buffer
  /** The stems that may stand around it, and where in each of them it stands. */
  readonly stems: readonly { readonly stem: Buffer; readonly at: number }[]
}

/** Finds stems of names in bodies of one endpoint. */
export class NameHints {
  readonly #needles: readonly Needle[]
  /** Those with an underscore alone, which are looked for together. */
  readonly #underscored: Needle['stems']

  /** @param stems in lower case. */
  constructor(stems: readonly string[]) {
    const needles = new Map<string, Needle['stems'][number][]>()
    for (const text of stems) {
      // Bytes that are rare in text are fast to search for.
      const at = Math.max(0, text.indexOf('_'))
      const stem = { stem: Buffer.from(text), at }
      for (const needle of casesOf(text.slice(at, at + 2)))
        needles.set(needle, [...(needles.get(needle) ?? []), stem])
    }
    this.#underscored = stems.flatMap((text) => {
      const at = text.indexOf('_')
      return at === -1 ? [] : [{ stem: Buffer.from(text), at }]
    })
    this.#needles = [...needles].map(([needle, found]) => ({ bytes: Buffer.from(needle), stems: found }))
  }

  /** Tells whether a stem stands in `body`, in any case of its letters, or could in escapes. */
  mayName(body: Buffer): boolean {
    if (this.#needles.length === 0) return false
    if (body.length > MAX_BYTES) return true
    let from = 0
    for (let count = 0; from !== -1 && count < MAX_UNDERSCORES; count += 1) {
      const found = body.indexOf(UNDERSCORE, from)
      if (found !== -1 && standsAny(this.#underscored, body, found)) return true
      from = found === -1 ? -1 : found + 1
    }
    for (const { bytes, stems } of this.#needles) {
      if (from === -1 && bytes[0] === UNDERSCORE) continue
      const start = bytes[0] === UNDERSCORE ? from : 0
      let count = 0
      for (let found = body.indexOf(bytes, start); found !== -1; found = body.indexOf(bytes, found + 1)) {
        count += 1
        if (count > MAX_PLACES || standsAny(stems, body, found)) return true
      }
    }
    return escapesName(body)
  }
}

function standsAny(stems: Needle['stems'], body: Buffer, found: number): boolean {
  for (let index = 0; index < stems.length; index += 1) {
    const stem = stems[index]
    if (stem !== undefined && stands(stem.stem, body, found - stem.at)) return true
  }
  return false
}

/** Two letters in all their cases: the native search knows no case. */
function casesOf([first = '', second = '']: string): readonly string[] {
  const firsts = [...new Set([first, first.toUpperCase()])]
  return firsts.flatMap((letter) => [...new Set([letter + second, letter + second.toUpperCase()])])
}

function stands(stem: Buffer, body: Buffer, from: number): boolean {
  for (let index = 0; index < stem.length; index += 1) {
    const byte = body[from + index] ?? 0
    if ((byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte) !== stem[index]) return false
  }
  return true
}

/** Tells whether a letter or `_` is written as an escape, which no program does but one that hides a name. */
function escapesName(body: Buffer): boolean {
  let seen = 0
  for (let at = body.indexOf(ESCAPED); at !== -1; at = body.indexOf(ESCAPED, at + 1)) {
    if (
      body[at - 1] === LOWER_U &&
      body[at - 2] === BACKSLASH &&
      isLetterAt(body, at) &&
      isEscape(body, at - 2)
    ) {
      return true
    }
    seen += 1
    // Also rows of zeros: a walk costs less.
    if (seen > MAX_PLACES) return true
  }
  return false
}

function isLetterAt(body: Buffer, at: number): boolean {
  const code = Number.parseInt(body.toString('latin1', at + 2, at + 4), 16)
  return (code >= 0x41 && code <= 0x5a) || code === 0x5f || (code >= 0x61 && code <= 0x7a)
}

/** A backslash that is not itself escaped. */
function isEscape(bytes: Buffer, at: number): boolean {
  let before = at
  while (before > 0 && bytes[before - 1] === BACKSLASH) before -= 1
  return (at - before) % 2 === 0
}
