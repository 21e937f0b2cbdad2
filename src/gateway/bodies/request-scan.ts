import type { AskedSize } from './asked/asked-size.ts'
import type { Literal } from './scanned-values.ts'

/** What one pass over a request body's top level found. Offsets refer to the scanned body. */
export interface RequestScan {
  /**
   * Whether the body is one JSON object whose top level every parser reads alike. Nothing but white space
   * stands around it (a byte order mark may precede it), and it has no more than 1,000 keys.
   * When `false`, the other fields describe what stands before the place where reading ended.
   */
  readonly readable: boolean
  /**
   * Without escapes. `null`: there is no key `model`, its value is not a string of at most 1 KiB, or there
   * are so many keys that another `model` may follow.
   */
  readonly model: string | null
  /**
   * `model` stands there more than once, or may. `Model` counts too, since Go's encoding/json takes it for
   * `model`.
   */
  readonly duplicateModel: boolean
  /** Another key names models that may serve the call: `models` (OpenRouter) or `fallbacks`. */
  readonly namesOtherModels: boolean
  /** `null`: the key is absent, or its value is neither `true` nor `false`. */
  readonly stream: boolean | null
  /** `stream` is there, and is neither a boolean nor `null`. */
  readonly hasOddStream: boolean
  /** `stream` or `stream_options` stands there more than once, or in other letters (`Stream`), as Go's servers take it. */
  readonly duplicateStream: boolean
  /** The offset after the value of `stream`; -1 without one. */
  readonly streamEnd: number
  readonly streamOptions: StreamOptions | null
  /** What it says of its size. */
  readonly asked: AskedSize
}

/** The value of `stream_options`. */
export interface StreamOptions {
  readonly kind: 'object' | 'null' | 'other'
  readonly start: number
  /** Exclusive. */
  readonly end: number
  readonly empty: boolean
  readonly includeUsage: IncludeUsage | null
}

/** The value of `include_usage` within the `stream_options`. */
export interface IncludeUsage {
  readonly value: Literal
  readonly start: number
  /** Exclusive. */
  readonly end: number
}
