import type { BilledUnits } from '../../call/usage.ts'
import type { Counts } from '../reading/counts.ts'
import type { JsonObject } from '../reading/json-value.ts'
import type { ReadCost } from '../reading/reported-cost.ts'

/**
 * The points in which a provider's OpenAI-style usage means something else than OpenAI's own. Set per provider, never
 * guessed.
 */
export interface OpenAiOverrides {
  /** Tells whether chat streams carry usage only if asked, and the provider knows `stream_options.include_usage`. */
  readonly takesIncludeUsage: boolean
  /** Corrects counts as read by OpenAI's rules. `model` is the one the response named. */
  readonly correct?: (counts: Counts, usage: JsonObject, model: string | null) => Counts
  readonly readCost?: ReadCost
  readonly readUnits?: (usage: JsonObject) => Partial<BilledUnits> | null
  /** Units in the usage of the Responses API; `null`: it reports none, and the calls in the output count. */
  readonly readToolUnits?: (usage: JsonObject) => Partial<BilledUnits> | null
  /** As `readTier`, of a response of the Responses API that searched the web. */
  readonly readSearchTier?: (response: JsonObject) => string | null
  /** The word beside a service tier that the price of a request depends on, where the usage says it. */
  readonly readTier?: (usage: JsonObject) => string | null
  /** Answers may be the work of several models and of tools that ran on the server (Groq). */
  readonly isCompound?: boolean
  /** An answer may only name the request (`request_id`) by which the completion is fetched later (xAI). */
  readonly defers?: boolean
  /** Usage stands inside the last choice (Moonshot). */
  readonly usageInChoices?: boolean
}

/** As at OpenAI itself: a chat stream carries usage only if asked. */
export const USAGE_IF_ASKED: OpenAiOverrides = { takesIncludeUsage: true }

/** A chat stream carries usage always, or the provider does not know the option. */
export const USAGE_UNASKED: OpenAiOverrides = { takesIncludeUsage: false }
