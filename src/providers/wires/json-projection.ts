/**
 * What to keep of a JSON document, by path: `'value'` keeps the value found there, `'usage'` keeps it and its
 * text, `'text'` a longer value, `'length'` only how many bytes it takes as it is written. An object goes into the
 * named members, a one-element array into every element. `{}` keeps an object as an empty one: that it was there.
 */
export type ProjectionSpec =
  | 'value'
  | 'usage'
  | 'text'
  | 'length'
  | { readonly [key: string]: ProjectionSpec }
  | readonly [ProjectionSpec]

/** Longest text kept of one value, in bytes: model names, error objects. */
const MAX_VALUE_BYTES = 4096
/** Longest usage object kept, in bytes; the longest seen have some 70 entries of 250 bytes. Also of a `'text'`. */
const MAX_USAGE_BYTES = 65_536

/** A {@link ProjectionSpec} made ready for scanning. Make it once, not per document. */
export type Projection =
  | { readonly kind: 'keep'; readonly isUsage: boolean; readonly maxBytes: number }
  | { readonly kind: 'length' }
  | { readonly kind: 'members'; readonly members: readonly ProjectedMember[]; readonly longestKey: number }
  | { readonly kind: 'elements'; readonly element: Projection }

export interface ProjectedMember {
  readonly key: string
  /** The key as most write it: in UTF-8, nothing escaped. */
  readonly bytes: Buffer
  readonly projection: Projection
}

export function compileProjection(spec: ProjectionSpec): Projection {
  if (spec === 'length') return { kind: 'length' }
  if (spec === 'value') return { kind: 'keep', isUsage: false, maxBytes: MAX_VALUE_BYTES }
  if (spec === 'usage' || spec === 'text') {
    return { kind: 'keep', isUsage: spec === 'usage', maxBytes: MAX_USAGE_BYTES }
  }
  if (isElements(spec)) return { kind: 'elements', element: compileProjection(spec[0]) }
  const members = Object.entries(spec).map(([key, inner]) => ({
    key,
    bytes: Buffer.from(key),
    projection: compileProjection(inner),
  }))
  return { kind: 'members', members, longestKey: Math.max(0, ...members.map(({ bytes }) => bytes.length)) }
}

function isElements(spec: ProjectionSpec): spec is readonly [ProjectionSpec] {
  return Array.isArray(spec)
}

/** The wanted member whose key stands unescaped in `bytes` from `from` to `to`; `null`: none does. */
export function memberNamed(
  members: readonly ProjectedMember[],
  bytes: Buffer,
  from: number,
  to: number,
): ProjectedMember | null {
  for (const member of members) if (isKey(member.bytes, bytes, from, to)) return member
  return null
}

function isKey(key: Buffer, bytes: Buffer, from: number, to: number): boolean {
  if (key.length !== to - from) return false
  for (let index = 0; index < key.length; index += 1) if (bytes[from + index] !== key[index]) return false
  return true
}
