// Whether a body may name an object at all: nearly no chat does, and a search for parts of names costs less than a walk.

const BACKSLASH = 0x5c
const ESCAPE = Buffer.from('\\u00')
/** Escapes looked at; texts may hold many that mean no letter. */
const MAX_ESCAPES = 1_000

interface Needle {
  readonly bytes: Buffer
  /** The stems that may stand around it, and where in each of them it stands. */
  readonly stems: readonly { readonly stem: Buffer; readonly at: number }[]
}

/** Finds stems of names in bodies of one endpoint. */
export class NameHints {
  readonly #needles: readonly Needle[]

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
    this.#needles = [...needles].map(([needle, found]) => ({ bytes: Buffer.from(needle), stems: found }))
  }

  /** Whether a stem stands in `body`, in any case of its letters, or could in escapes. */
  mayName(body: Buffer): boolean {
    for (const { bytes, stems } of this.#needles) {
      for (let found = body.indexOf(bytes); found !== -1; found = body.indexOf(bytes, found + 1)) {
        for (const { stem, at } of stems) if (stands(stem, body, found - at)) return true
      }
    }
    return this.#needles.length > 0 && escapesName(body)
  }
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

/** Whether a letter or `_` is written as an escape, which no program does but one that hides a name. */
function escapesName(body: Buffer): boolean {
  let seen = 0
  for (let at = body.indexOf(ESCAPE); at !== -1; at = body.indexOf(ESCAPE, at + ESCAPE.length)) {
    const code = Number.parseInt(body.toString('latin1', at + 4, at + 6), 16)
    const isLetter = (code >= 0x41 && code <= 0x5a) || code === 0x5f || (code >= 0x61 && code <= 0x7a)
    if (isLetter && isEscape(body, at)) return true
    seen += 1
    if (seen > MAX_ESCAPES) return true
  }
  return false
}

/** A backslash that is not itself escaped. */
function isEscape(bytes: Buffer, at: number): boolean {
  let before = at
  while (before > 0 && bytes[before - 1] === BACKSLASH) before -= 1
  return (at - before) % 2 === 0
}
