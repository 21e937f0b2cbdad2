import type { Observation } from '../../call/observation.ts'
import type { JsonObject } from './json-value.ts'

/** Combines what the JSON documents of one response report: the events of a stream, or the one whole body. */
export interface UsageAccumulator {
  /** Whether events that the prefilter passes over are wanted too, for now: until the model's name is known. */
  readonly wantsEvery: boolean
  /**
   * Adds the next document, of which only the format's fields are there; `null`: it is not an object.
   * @param raw the text of the `'usage'` field in it, as the upstream wrote it; `null`: it has none
   * @param isError its event is named `error`
   * @returns whether something new was learned
   */
  add(document: JsonObject | null, raw: string | null, isError: boolean): boolean
  /** What was reported so far; `ended`: the body ended as it should, so nothing corrects it any more. */
  snapshot(ended: boolean): Observation
}
