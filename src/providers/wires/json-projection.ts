/**
 * What to keep of a JSON document, by path: `'value'` keeps the value found there, `'usage'` keeps it and its
 * text, `'text'` a longer value, `'length'` only how many bytes it takes as it is written. An object goes into the
 * named members, a one-element array into every element. `{}` keeps an object as an empty one: that it was there.
 */
export type Wanted =
  | 'value'
  | 'usage'
  | 'text'
  | 'length'
  | { readonly [key: string]: Wanted }
  | readonly [Wanted]

/** Longest text kept of one value, in bytes: model names, error objects. */
const MAX_VALUE_BYTES = 4096
/** Longest usage object kept, in bytes; the longest seen have some 70 entries of 250 bytes. Also of a `'text'`. */
const MAX_USAGE_BYTES = 65_536

/** A {@link Wanted} made ready for scanning. Make it once, not per document. */
export type JsonPlan =
  | { readonly kind: 'keep'; readonly isUsage: boolean; readonly maxBytes: number }
  | { readonly kind: 'length' }
  | { readonly kind: 'members'; readonly members: readonly WantedMember[]; readonly longestKey: number }
  | { readonly kind: 'elements'; readonly element: JsonPlan }

export interface WantedMember {
  readonly key: string
  /** The key as most write it: in UTF-8, nothing escaped. */
  readonly bytes: Buffer
  readonly plan: JsonPlan
}

export function planJson(wanted: Wanted): JsonPlan {
  if (wanted === 'length') return { kind: 'length' }
  if (wanted === 'value') return { kind: 'keep', isUsage: false, maxBytes: MAX_VALUE_BYTES }
  if (wanted === 'usage' || wanted === 'text') {
    return { kind: 'keep', isUsage: wanted === 'usage', maxBytes: MAX_USAGE_BYTES }
  }
  if (isElements(wanted)) return { kind: 'elements', element: planJson(wanted[0]) }
  const members = Object.entries(wanted).map(([key, inner]) => ({
    key,
    bytes: Buffer.from(key),
    plan: planJson(inner),
  }))
  return { kind: 'members', members, longestKey: Math.max(0, ...members.map(({ bytes }) => bytes.length)) }
}

function isElements(wanted: Wanted): wanted is readonly [Wanted] {
  return Array.isArray(wanted)
}

/** The wanted member whose key stands unescaped in `bytes` from `from` to `to`; `null`: none does. */
export function memberNamed(
  members: readonly WantedMember[],
  bytes: Buffer,
  from: number,
  to: number,
): WantedMember | null {
  for (const member of members) if (isKey(member.bytes, bytes, from, to)) return member
  return null
}

function isKey(key: Buffer, bytes: Buffer, from: number, to: number): boolean {
  if (key.length !== to - from) return false
  for (let index = 0; index < key.length; index += 1) if (bytes[from + index] !== key[index]) return false
  return true
}
