// The fields of a form in the coding of URLs (`application/x-www-form-urlencoded`), read in pieces.
import { isUtf8 } from 'node:buffer'

const EQUALS = '='.charCodeAt(0)
const AND = '&'.charCodeAt(0)
/** Servers differ in whether it separates fields; an id holds none. */
const SEMICOLON = ';'.charCodeAt(0)
/** Walked at once. */
const PIECE_BYTES = 4 * 1024
/** Of one field; no name is longer, and no id. */
const MAX_FIELD_BYTES = 4 * 1024

/** Whatever stands between the fields, as WHATWG's parser skips what has no name. */
export class FormFields {
  readonly #body: Buffer
  readonly #take: (name: string, value: string) => void
  #at = 0
  #start = 0
  /** `-1`: the field has none yet. */
  #equals = -1

  constructor(body: Buffer, take: (name: string, value: string) => void) {
    this.#body = body
    this.#take = take
  }

  /** Reads the next piece. @returns Whether it was the last one. */
  readOn(): boolean {
    const body = this.#body
    const end = Math.min(body.length, this.#at + PIECE_BYTES)
    for (let at = this.#at; at < end; at += 1) {
      const byte = body[at]
      if (byte === EQUALS && this.#equals === -1) this.#equals = at
      else if (byte === AND || byte === SEMICOLON) this.#endField(at)
    }
    this.#at = end
    if (end < body.length) return false
    this.#endField(end)
    return true
  }

  #endField(at: number): void {
    const start = this.#start
    // Sound and pictures have these signs too, and hardly a name before them.
    if (this.#equals > start && isUtf8(this.#body.subarray(start, this.#equals))) {
      const field = this.#body.toString('utf8', start, Math.min(at, start + MAX_FIELD_BYTES))
      for (const [name, value] of fieldsIn(field)) this.#take(name.trim(), value.trim())
    }
    this.#start = at + 1
    this.#equals = -1
  }
}

function fieldsIn(field: string): Iterable<readonly [name: string, value: string]> {
  if (/[%+]/.test(field)) return new URLSearchParams(field)
  const equals = field.indexOf('=')
  return equals === -1 ? [] : [[field.slice(0, equals), field.slice(equals + 1)]]
}
