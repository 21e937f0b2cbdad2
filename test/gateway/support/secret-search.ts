/** What must stand nowhere, by what it is called in a failure's message. */
export type Secrets = Readonly<Record<string, string>>

/** A leak is reported from this many characters on: error messages of parsers quote no more than ten. */
const PIECE_LENGTH = 8
/** Hexadecimal pieces hold half as much, and eight digits of a digest could be those of a secret by chance. */
const HEX_PIECE_LENGTH = 16

/** Finds pieces of secrets in bytes, in every form in which a program could have written them. */
export interface SecretSearch {
  /** What was found, as `name (form)`, each once. */
  findIn(bytes: Buffer | string): readonly string[]
}

export function searchFor(secrets: Secrets): SecretSearch {
  const pieces = new Pieces(PIECE_LENGTH)
  const hexPieces = new Pieces(HEX_PIECE_LENGTH)
  for (const [name, secret] of Object.entries(secrets)) {
    for (const [form, text] of formsOf(secret))
      (form === 'hex' ? hexPieces : pieces).add(text, `${name} (${form})`)
  }
  return {
    findIn(bytes) {
      const buffer = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
      return [...new Set([...pieces.findIn(buffer), ...hexPieces.findIn(buffer)])].sort()
    },
  }
}

/** Pieces of one length, looked for at every place of some megabytes. */
class Pieces {
  readonly #length: number
  readonly #names = new Map<string, string>()
  /** Which pairs of bytes a piece begins with, and has next: what has others is passed over without reading the map. */
  readonly #first = new Uint8Array(65_536)
  readonly #second = new Uint8Array(65_536)

  constructor(length: number) {
    this.#length = length
  }

  add(text: string, name: string): void {
    if (text.length < this.#length) throw new Error(`${name} is too short to be searched for`)
    for (let i = 0; i + this.#length <= text.length; i += 1) {
      const piece = text.slice(i, i + this.#length)
      if (!this.#names.has(piece)) this.#names.set(piece, name)
      const bytes = Buffer.from(piece, 'latin1')
      this.#first[bytes.readUInt16BE(0)] = 1
      this.#second[bytes.readUInt16BE(2)] = 1
    }
  }

  findIn(bytes: Buffer): readonly string[] {
    const found: string[] = []
    for (let i = 0; i + this.#length <= bytes.length; i += 1) {
      if (this.#first[bytes.readUInt16BE(i)] === 0 || this.#second[bytes.readUInt16BE(i + 2)] === 0) continue
      const name = this.#names.get(bytes.toString('latin1', i, i + this.#length))
      if (name !== undefined) found.push(name)
    }
    return found
  }
}

function formsOf(secret: string): readonly (readonly [form: string, text: string])[] {
  const bytes = Buffer.from(secret)
  const forms: [string, string][] = [
    ['plain', bytes.toString('latin1')],
    ['percent-encoded', encodeURIComponent(secret)],
    ['reversed', [...secret].reverse().join('')],
    ['hex', bytes.toString('hex')],
    ['hex', bytes.toString('hex').toUpperCase()],
  ]
  // In base64 the same bytes look different at each of three places; the digits at the ends belong to neighbours too.
  for (const before of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes])
    for (const encoding of ['base64', 'base64url'] as const)
      forms.push([
        encoding,
        shifted
          .toString(encoding)
          .replace(/=+$/, '')
          .slice(before + 1, -2),
      ])
  }
  return forms
}
