import { isUtf8 } from 'node:buffer'
import { NameCollector } from '../../objects/names/body-names.ts'
import { namedPaths } from '../../objects/names/name-paths.ts'
import type { Verdict } from '../../objects/objects.ts'

/** Whether the session's client may use these. Never rejects. */
type JudgeIds = (ids: readonly string[]) => Verdict | Promise<Verdict>

/** Judges the objects that messages of a session's client name, of any length, as they pass. */
export class SessionNames {
  readonly #judge: JudgeIds
  readonly #names: NameCollector
  readonly #text = new Utf8Check()

  constructor(canonicalPath: string, judge: JudgeIds) {
    this.#judge = judge
    this.#names = new NameCollector(namedPaths(canonicalPath).walk)
  }

  /** The next bytes of a message. Borrowed. */
  push(bytes: Buffer): void {
    this.#text.push(bytes)
    // What follows changes nothing, and would be kept: each bracket is one more level.
    if (!this.#names.isUnreadable) this.#names.push(bytes)
  }

  /** A message has ended. Gives the ids that it names, or what is wrong with it. */
  end(): readonly string[] | string {
    const isRead = this.#text.end() && this.#names.isDone && !this.#names.isUnreadable
    const ids = this.#names.takeIds()
    this.#names.restart()
    return isRead ? ids : UNREADABLE
  }

  /** What is wrong with a message that names these; `null`: nothing. Never rejects. */
  judge(ids: readonly string[]): string | null | Promise<string | null> {
    if (ids.length === 0) return null
    const verdict = this.#judge(ids)
    return verdict instanceof Promise ? verdict.then(wrongWith) : wrongWith(verdict)
  }
}

/** Tells of a text that comes in pieces, cut anywhere, whether it is UTF-8: else servers differ in what they read. */
class Utf8Check {
  #isFine = true
  /** The beginning of a character. */
  #rest = NO_BYTES

  push(piece: Buffer): void {
    if (!this.#isFine) return
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    const end = lastCharacter(bytes)
    this.#isFine = isUtf8(bytes.subarray(0, end))
    this.#rest = end === bytes.length ? NO_BYTES : Buffer.from(bytes.subarray(end))
  }

  /** The text has ended, and another one begins. */
  end(): boolean {
    const isWhole = this.#isFine && this.#rest.length === 0
    this.#isFine = true
    this.#rest = NO_BYTES
    return isWhole
  }
}

const NO_BYTES: Buffer = Buffer.alloc(0)

/** The place of a last character that is not all there; else the end. */
function lastCharacter(bytes: Buffer): number {
  for (let at = bytes.length - 1; at >= 0 && at > bytes.length - 4; at -= 1) {
    const byte = bytes[at] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return at + length > bytes.length ? at : bytes.length
  }
  return bytes.length
}

const UNREADABLE = 'is not one JSON document'

function wrongWith(verdict: Verdict): string | null {
  switch (verdict) {
    case 'pass':
      return null
    case 'hidden':
      return 'names an object that does not exist, or is not yours'
    case 'unavailable':
      return 'names an object whose owner cannot be read now'
    case 'unreadable':
      return UNREADABLE
    default:
      return verdict satisfies never
  }
}
