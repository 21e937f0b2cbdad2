// The names in a request's body: the ids of objects, models beside its own, and whether it reads the whole account.
import { isUtf8 } from 'node:buffer'
import { slicedWork } from '../../lib/sliced-work.ts'
import { JsonScanner } from '../../providers/wires/json.ts'
import { OPEN_BRACE, OPEN_BRACKET } from '../../providers/wires/json-bytes.ts'
import { walkToName } from '../../providers/wires/plans/json-paths.ts'
import { SPEAKING_ID } from '../object-kinds.ts'
import { FormFields } from './form-fields.ts'
import { type NamedPaths, type NameTag, type NameWalk, namedPaths, readsWholeAccount } from './name-paths.ts'

export interface BodyNames {
  readonly ids: readonly string[]
  readonly models: readonly string[]
  /** A tool of it runs a model of the provider's choice. */
  readonly runsUnnamedModel: boolean
  /** It reads what other clients made without naming it. */
  readonly readsWholeAccount: boolean
}

/** The knowledge of a scan of the body's top level. */
export interface TopLevel {
  readonly readable: boolean
  readonly model: string | null
  readonly duplicateModel: boolean
  readonly namesOtherModels: boolean
}

/** `unreadable`: servers could read it differently, or it names more than anybody needs. */
export type NamesFound = BodyNames | 'unreadable'

export const NO_NAMES: BodyNames = {
  ids: [],
  models: [],
  runsUnnamedModel: false,
  readsWholeAccount: false,
}

/** The tool that runs a model of its own, and need not name it. */
const DRAWS = 'image_generation'

/** Ids or models of one body; a store takes some hundred files at once. */
const MAX_NAMES = 2_048
/** A text that is short or has spaces is none; `auto` and its like stand where ids may. */
const MAY_BE_ID = /^[\w.:/~%@+=?&-]{5,}$/
/** Models that a job left, by OpenAI's, Mistral's, Google's and Cohere's names; others are named like their makers'. */
const TUNED_MODEL =
  /(?:^|[/:])ft[:-]|(?:^|\/)tunedmodels\/|\/locations\/[^/]+\/(?:endpoints|models)\/|-[0-9a-f]{12}-ft$/i

export function isTunedModel(model: string): boolean {
  return TUNED_MODEL.test(model)
}

/** Walked in one piece up to this: 0.3 ms at worst. */
const PIECE_BYTES = 64 * 1024

/**
 * Reads what `body` names, at once for nearly every body, in slices for long ones and for forms.
 *
 * @param top `null`: not scanned.
 * @param isWanted asked before each slice; false ends the walk.
 * @param wantsModels models beside the body's own matter.
 * @param isForm it is said to be a form in the coding of URLs: a text can be that and JSON.
 */
export function namesInBody(
  canonicalPath: string,
  body: Buffer,
  top: TopLevel | null,
  clientId: string,
  isWanted: () => boolean = () => true,
  wantsModels = false,
  isForm = false,
): NamesFound | Promise<NamesFound> {
  if (body.length === 0) return NO_NAMES
  const paths = namedPaths(canonicalPath)
  // Endpoints that are known take JSON alone, which curl sends with the type of a form unless another is given.
  const asForm = isForm && !paths.isKnown
  if (!asForm && !wantsModels && isPlain(paths, body, top)) return NO_NAMES
  const names = new NameCollector(paths.walk)
  // Endpoints of which nothing is known take anything: sound, pictures, a form. What stands in front of the fault counts.
  const takesOnlyJson = paths.isKnown || isWide(body)
  if (!asForm && body.length <= PIECE_BYTES) {
    names.push(body)
    const isJson = !names.isMalformed && names.isDone && isUtf8(body)
    if (names.namesTooMuch || (!isJson && takesOnlyJson)) return 'unreadable'
    if (isJson) return names.found
  }
  return new Promise((resolve) => {
    let at = 0
    let fields = asForm || body.length > PIECE_BYTES ? null : fieldsOf(body, names)
    slicedWork.run(clientId, (deadline) => {
      const end = (found: NamesFound) => {
        resolve(found)
        return true
      }
      if (!isWanted()) return end('unreadable')
      do {
        if (fields !== null) {
          const isLast = fields.readOn()
          if (names.namesTooMuch) return end('unreadable')
          if (isLast) return end(names.found)
          continue
        }
        const piece = body.subarray(at, characterEnd(body, Math.min(body.length, at + PIECE_BYTES)))
        names.push(piece)
        at += piece.length
        const isJson = !names.isMalformed && isUtf8(piece) && (at < body.length || names.isDone)
        if (names.namesTooMuch || (!isJson && takesOnlyJson)) return end('unreadable')
        if (!isJson || (asForm && at >= body.length)) fields = fieldsOf(body, names)
        else if (at >= body.length) return end(names.found)
      } while (performance.now() < deadline)
      return false
    })
  })
}

function fieldsOf(body: Buffer, names: NameCollector): FormFields {
  return new FormFields(body, (name, value) => names.takeField(name, value))
}

/** Tells whether this is JSON in UTF-16 or UTF-32, which some servers read. */
export function isWide(body: Buffer): boolean {
  const start = body.subarray(0, 8)
  return start.includes(0) && (start.includes(OPEN_BRACE) || start.includes(OPEN_BRACKET))
}

/** Tells whether such a body names nothing, however a server reads it, by what is known without a walk. */
function isPlain({ hints }: NamedPaths, body: Buffer, top: TopLevel | null): boolean {
  if (hints === null || top === null || top.duplicateModel || top.namesOtherModels) return false
  if (top.model !== null && TUNED_MODEL.test(top.model)) return false
  // A body that is not JSON gets its error from the upstream, unless a server could read a name in it.
  if (
    !top.readable &&
    (body.length > PIECE_BYTES || isWide(body) || /ft[:-]|-ft|tuned|endpoints/i.test(body.toString('latin1')))
  ) {
    return false
  }
  return !hints.mayName(body)
}

/** Collects the names of JSON documents that come in pieces. */
export class NameCollector {
  readonly #walk: NameWalk
  #scanner: JsonScanner
  #ids = new Set<string>()
  readonly #models = new Set<string>()
  #readsWholeAccount = false
  /** Tools that run a model, less the models that tools name. */
  #unnamedModels = 0

  constructor(walk: NameWalk) {
    this.#walk = walk
    this.#scanner = this.#scannerOfNext()
  }

  /** The document has ended. */
  get isDone(): boolean {
    return this.#scanner.done
  }

  /** The part of the document that has come is not JSON. */
  get isMalformed(): boolean {
    return this.#scanner.isMalformed
  }

  /** It is not JSON, or names too much. */
  get isUnreadable(): boolean {
    return this.isMalformed || this.namesTooMuch
  }

  get namesTooMuch(): boolean {
    return this.#ids.size > MAX_NAMES || this.#models.size > MAX_NAMES
  }

  /** @returns How much of it belongs to the document. */
  push(piece: Buffer): number {
    return this.#scanner.push(piece)
  }

  /** Another document begins. */
  restart(): void {
    this.#scanner = this.#scannerOfNext()
  }

  /** The names that were found so far. */
  get found(): BodyNames {
    return {
      ids: [...this.#ids],
      models: [...this.#models],
      runsUnnamedModel: this.#unnamedModels > 0,
      readsWholeAccount: this.#readsWholeAccount,
    }
  }

  /** The ids that were found since this was asked last. Models are dropped: an upload of any length may name some. */
  takeIds(): readonly string[] {
    this.#models.clear()
    if (this.#ids.size === 0) return NO_NAMES.ids
    const ids = [...this.#ids]
    this.#ids = new Set()
    return ids
  }

  /** The field of a form, as if it stood in a JSON body: `video[id]` as `{"video": {"id": …}}`. */
  takeField(name: string, value: string): void {
    let place: NameWalk | null = this.#walk
    for (const part of name.split(/[[\].]+/)) {
      if (part !== '' && !/^\d+$/.test(part) && place !== null)
        place = walkToName(place, part) as NameWalk | null
    }
    if (place === null) return
    // A text that can be JSON, too, must not take a doubt away as a form.
    for (const tag of place.tags) if (tag !== 'tool_model') this.#take(tag, value)
  }

  #takeAt(place: NameWalk, text: string): void {
    for (const tag of place.tags) this.#take(tag, text)
  }

  #scannerOfNext(): JsonScanner {
    return new JsonScanner(this.#walk, false, (place, text) => {
      if (text !== null) this.#takeAt(place as NameWalk, text)
    })
  }

  #take(tag: NameTag, text: string): void {
    switch (tag) {
      case 'id':
        if (MAY_BE_ID.test(text)) this.#ids.add(text)
        return
      case 'item':
        if (SPEAKING_ID.test(text)) this.#ids.add(text)
        return
      case 'model':
        this.#models.add(text)
        if (TUNED_MODEL.test(text)) this.#ids.add(text)
        return
      case 'tool':
        if (text === DRAWS) this.#unnamedModels += 1
        return
      case 'tool_model':
        this.#unnamedModels -= 1
        return
      case 'tuned':
        if (TUNED_MODEL.test(text)) this.#ids.add(text)
        return
      default:
        if (readsWholeAccount(tag, text)) this.#readsWholeAccount = true
    }
  }
}

/** End of the character that stands around `at`. */
function characterEnd(body: Buffer, at: number): number {
  let end = at
  while (end < at + 3 && ((body[end] ?? 0) & 0xc0) === 0x80) end += 1
  return end
}
