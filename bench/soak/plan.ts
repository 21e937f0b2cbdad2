/** How a call of the soak goes: what its client sends and does, and what the origin answers. Known from its number. */
export interface CallPlan {
  readonly kind: CallKind
  readonly client: number
  readonly key: number
  readonly model: string
  readonly input: number
  readonly output: number
}

export type CallKind =
  /** One JSON answer. */
  | 'json'
  /** A stream read to its end, whose usage the client asked for, or the gateway. */
  | 'stream'
  | 'stream-unasked'
  /** A stream that its client leaves after the first bytes. */
  | 'left'
  /** The upstream answers 429, or 500. */
  | 'limited'
  | 'failed'
  /** The upstream hangs up amid its answer. */
  | 'cut'
  /** A key that is none: never sent upstream, and no request. */
  | 'refused'

export const CLIENTS = 100
export const KEYS_PER_CLIENT = 3
/** What the call's number and kind stand under, in the request body's `metadata`. */
export const METADATA = 'soak'
/** Calls whose tokens the gateway cannot know to the token have a model of their own. */
export const INEXACT_MODEL = 'gpt-4.1'
const EXACT_MODELS = ['gpt-4o-mini', 'gpt-4o'] as const
/** Of a hundred calls. */
const SHARES: readonly (readonly [CallKind, number])[] = [
  ['json', 78],
  ['stream', 8],
  ['stream-unasked', 7],
  ['left', 3],
  ['limited', 1],
  ['failed', 1],
  ['cut', 1],
  ['refused', 1],
]
const KINDS = SHARES.flatMap(([kind, share]) => Array.from({ length: share }, () => kind))

export function planCall(number: number): CallPlan {
  const spread = Math.imul(number ^ (number >>> 15), 0x2c1b3c6d) >>> 0
  const kind = KINDS[(spread >>> 8) % KINDS.length] ?? 'json'
  const isExact = kind !== 'left' && kind !== 'cut'
  return {
    kind,
    client: number % CLIENTS,
    key: Math.floor(number / CLIENTS) % KEYS_PER_CLIENT,
    model: isExact ? (EXACT_MODELS[spread % 2] ?? EXACT_MODELS[0]) : INEXACT_MODEL,
    input: 10 + (spread % 997),
    output: 1 + (spread % 389),
  }
}

/** Whether its tokens have to be counted to the token. */
export function isExact({ kind }: CallPlan): boolean {
  return kind === 'json' || kind === 'stream' || kind === 'stream-unasked'
}
