import { walkToName } from '../../providers/wires/plans/json-paths.ts'
import { NameCollector } from './body-names.ts'
import { type NameWalk, namedPaths } from './name-paths.ts'

/** A longer value is not an id. */
const MAX_FIELD_BYTES = 16_384

/** The ids in the fields of one form, as if they stood in a JSON body: `video[id]` as `{"video": {"id": …}}`. */
export class FormNames {
  readonly #walk: NameWalk
  readonly #names: NameCollector

  constructor(canonicalPath: string) {
    this.#walk = namedPaths(canonicalPath).walk
    this.#names = new NameCollector(this.#walk)
  }

  static readonly maxFieldBytes = MAX_FIELD_BYTES

  takeIds(): readonly string[] {
    return this.#names.takeIds()
  }

  get readsWholeAccount(): boolean {
    return this.#names.found.readsWholeAccount
  }

  field(name: string, value: string): void {
    let place: NameWalk | null = this.#walk
    for (const part of name.split(/[[\].]+/)) {
      if (part !== '' && !/^\d+$/.test(part) && place !== null)
        place = walkToName(place, part) as NameWalk | null
    }
    if (place !== null) this.#names.take(place, value)
  }
}
