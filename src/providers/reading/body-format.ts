import { compileProjection, type Projection, type ProjectionSpec } from '../wires/json.ts'
import { findMembers, type Prefilter } from '../wires/prefilter.ts'
import { arrayIn, type JsonObject, member, objectIn } from './json-value.ts'
import type { UsageAccumulator } from './usage-update.ts'
import { createUpdateAccumulator, type UsageUpdate } from './usage-update.ts'

/** The part that is kept of a JSON document, by member; {@link ProjectionSpec} says how much of each. */
export type Fields = { readonly [name: string]: ProjectionSpec }

/** Reads what one document reports; `raw` is the text of the `'usage'` field in it. */
export type ReadDocument = (document: JsonObject, raw: string | null) => UsageUpdate | null

/** How an endpoint writes its JSON documents, whichever wire carries them: what a dialect says of it. */
export interface UsageFormat {
  /** Everything else in a document is passed over without being parsed. */
  readonly fields: Fields
  /**
   * Events of a stream that name none of these members are not parsed. A member whose value is `null` does not count.
   */
  readonly prefilter: readonly string[]
  /** A later document's usage replaces the earlier one's as a whole. */
  readonly read?: ReadDocument
  /** In the place of `read`, where documents add to each other or correct each other in another way. */
  readonly createAccumulator?: () => UsageAccumulator
  /**
   * Where two events differ in nothing but texts which are not wanted and in counts above zero, the later one makes
   * the earlier one superfluous, unless their usage is final.
   */
  readonly laterReplaces?: true
  /** A body that begins with an object is one JSON document a line (Ollama). Known media types need no word. */
  readonly isLines?: boolean
  /** Only the first of a stream's events names the answer. */
  readonly namesItselfFirst?: true
}

/** A {@link UsageFormat} made ready for reading. */
export interface BodyFormat {
  readonly projection: Projection
  readonly prefilter: Prefilter
  readonly laterReplaces: boolean
  readonly isLines: boolean
  readonly namesItselfFirst: boolean
  createAccumulator(): UsageAccumulator
}

/** Dialects of many providers share their fields: compiled once. */
const projections = new WeakMap<Fields, Projection>()

/** Make it once for each dialect, not for every call. */
export function bodyFormat(format: UsageFormat): BodyFormat {
  const {
    fields,
    prefilter,
    read = () => null,
    isLines = false,
    namesItselfFirst = false,
    laterReplaces = false,
  } = format
  let projection = projections.get(fields)
  if (projection === undefined) {
    projection = compileProjection(fields)
    projections.set(fields, projection)
  }
  return {
    projection,
    prefilter: findMembers(prefilter),
    laterReplaces,
    isLines,
    namesItselfFirst,
    createAccumulator: format.createAccumulator ?? (() => createUpdateAccumulator(read)),
  }
}

/**
 * Tells whether a document of a response with a success status carries an error: OpenRouter's and Azure's 200 with
 * `error`, Groq's in `x_groq`, a choice that ended in one, an `error` event of the Responses API or of Anthropic,
 * vLLM's error object, a response that failed.
 */
export function carriesError(document: JsonObject): boolean {
  if (isSaid(document.error) || document.type === 'error' || document.object === 'error') return true
  if (isSaid(member(document, 'response')?.error) || isSaid(member(document, 'x_groq')?.error)) return true
  return arrayIn(document.choices).some((choice) => {
    const { error, finish_reason } = objectIn(choice) ?? {}
    return isSaid(error) || finish_reason === 'error'
  })
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && value !== false
}
