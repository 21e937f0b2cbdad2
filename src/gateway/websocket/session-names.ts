import { NameCollector } from '../../objects/names/body-names.ts'
import { namedPaths } from '../../objects/names/name-paths.ts'
import type { Objects, Verdict } from '../../objects/objects.ts'
import type { Admission } from '../admission/admission.ts'

/** Judges the objects that messages of a session's client name, of any length, as they pass. */
export class SessionNames {
  readonly #judge: (ids: readonly string[]) => Verdict | Promise<Verdict>
  readonly #names: NameCollector

  constructor(objects: Objects, { route, caller }: Pick<Admission, 'route' | 'caller'>) {
    this.#judge = (ids) => objects.judgeIds(route.upstream, caller.clientId, ids)
    this.#names = new NameCollector(namedPaths(route.target.canonicalPath).walk)
  }

  /** The next bytes of a message. Borrowed. */
  push(bytes: Buffer): void {
    this.#names.push(bytes)
  }

  /** A message has ended. Gives what is wrong with it; `null`: nothing. Never rejects. */
  end(): string | null | Promise<string | null> {
    const isRead = this.#names.isDone && !this.#names.isUnreadable
    const ids = this.#names.takeIds()
    this.#names.restart()
    if (!isRead) return wrongWith('unreadable')
    if (ids.length === 0) return null
    const verdict = this.#judge(ids)
    return verdict instanceof Promise ? verdict.then(wrongWith) : wrongWith(verdict)
  }
}

function wrongWith(verdict: Verdict): string | null {
  switch (verdict) {
    case 'pass':
      return null
    case 'hidden':
      return 'names an object that does not exist, or is not yours'
    case 'unavailable':
      return 'names an object whose owner cannot be read now'
    case 'unreadable':
      return 'is not one JSON document in UTF-8'
    default:
      return verdict satisfies never
  }
}
