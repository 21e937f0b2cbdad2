import type { BilledUnits } from '../../call/usage.ts'
import { arrayIn, type JsonObject, member, objectIn, objectsIn, textIn } from '../reading/json-value.ts'
import type { ProjectionSpec } from '../wires/json.ts'

/** What of `groundingMetadata` is kept: what was asked for, and what kinds of sources were found. */
export const GROUNDING = {
  webSearchQueries: ['value'],
  imageSearchQueries: ['value'],
  googleMapsWidgetContextToken: 'value',
  groundingChunks: [{ web: {}, maps: {} }],
} as const satisfies ProjectionSpec

/** More queries than these no answer has; the rest are not distinguished. */
const MAX_QUERIES = 1000

/** Searches by which one answer, or one turn of a session, was grounded. */
export interface Grounding {
  /** Takes the `groundingMetadata` of one candidate in one chunk. */
  add(metadata: JsonObject): void
  /** The fees of it all; `null`: nothing was searched. `model`: the one that answered. */
  units(model: string | null): Partial<BilledUnits> | null
}

/**
 * Gathers the searches of an answer. Chunks and candidates repeat queries, so that each counts once; empty ones none.
 * Up to Gemini 2.5 a grounded prompt is billed, however many queries it took, since Gemini 3 each query. Where only
 * places of Maps were found the queries were for them, and at least one is billed then.
 * https://ai.google.dev/gemini-api/docs/pricing, https://ai.google.dev/api/generate-content#GroundingMetadata
 */
export function createGrounding(): Grounding {
  const web = new Set<string>()
  const pictures = new Set<string>()
  const maps = new Set<string>()
  let hasMaps = false
  return {
    add(metadata) {
      const chunks = objectsIn(metadata.groundingChunks)
      const isOfMaps =
        textIn(metadata.googleMapsWidgetContextToken) !== null ||
        chunks.some(({ maps }) => objectIn(maps) !== null)
      hasMaps ||= isOfMaps
      const isOnlyOfMaps = isOfMaps && !chunks.some((chunk) => objectIn(chunk.web) !== null)
      addQueries(metadata.webSearchQueries, isOnlyOfMaps ? maps : web)
      addQueries(metadata.imageSearchQueries, pictures)
    },
    units(model) {
      if (web.size === 0 && pictures.size === 0 && !hasMaps) return null
      const isByPrompt = isBilledByPrompt(model)
      const fees = (queries: number) => (queries === 0 ? null : isByPrompt ? 1 : queries)
      return {
        webSearches: fees(web.size),
        mapSearches: fees(hasMaps ? Math.max(1, maps.size) : 0),
        // What a search for pictures costs is not published apart.
        otherToolCalls: pictures.size === 0 ? null : pictures.size,
      }
    },
  }
}

/** Takes the grounding of all candidates of an answer or of a chunk. */
export function addCandidates(grounding: Grounding, document: JsonObject): void {
  for (const candidate of arrayIn(document.candidates)) {
    const metadata = member(candidate, 'groundingMetadata')
    if (metadata !== null) grounding.add(metadata)
  }
}

const BY_PROMPT = /(?:^|[/-])gemini-(?:live-)?[12](?:\.|-)/

/** Whether a grounded prompt is what the searches of `model` are billed by, in the place of each query. */
export function isBilledByPrompt(model: string | null): boolean {
  return model !== null && BY_PROMPT.test(model.toLowerCase())
}

function addQueries(queries: unknown, all: Set<string>): void {
  for (const query of arrayIn(queries)) {
    if (typeof query === 'string' && query !== '' && all.size < MAX_QUERIES) all.add(query)
  }
}
