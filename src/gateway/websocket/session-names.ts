import { NameCollector } from '../../objects/names/body-names.ts'
import { namedPaths } from '../../objects/names/name-paths.ts'
import type { Verdict } from '../../objects/objects.ts'

/** Whether the session's client may use these. Never rejects. */
type JudgeIds = (ids: readonly string[]) => Verdict | Promise<Verdict>

/** Judges the objects that messages of a session's client name, of any length, as they pass. */
export class SessionNames {
  readonly #judge: JudgeIds
  readonly #names: NameCollector

  constructor(canonicalPath: string, judge: JudgeIds) {
    this.#judge = judge
    this.#names = new NameCollector(namedPaths(canonicalPath).walk)
  }

  /** The next bytes of a message. Borrowed. */
  push(bytes: Buffer): void {
    // What follows changes nothing, and would be kept: each bracket is one more level.
    if (!this.#names.isUnreadable) this.#names.push(bytes)
  }

  /** A message has ended. Gives the ids that it names, or what is wrong with it. */
  end(): readonly string[] | string {
    const isRead = this.#names.isDone && !this.#names.isUnreadable
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
