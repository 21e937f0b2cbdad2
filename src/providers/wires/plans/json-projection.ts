import { parsedJson } from '../../../domain/json.ts'
import { includesBackslash, type TextCapture } from '../json-text.ts'
import { fold, type PathWalk } from './json-paths.ts'

/**
 * The parts of a JSON document to keep, by path: `'value'` keeps the value found there, `'usage'` keeps it and its
 * text, `'text'` a longer value, `'length'` only how many bytes it takes as it is written. An object goes into the
 * named members, a one-element array into every element. `{}` keeps an object as an empty one: that it was there.
 * Of an array with the word beside, each object is passed on once it has ended, and none is kept.
 */
export type ProjectionSpec =
  | 'value'
  | 'usage'
  | 'text'
  | 'length'
  | { readonly [key: string]: ProjectionSpec }
  | readonly [ProjectionSpec]
  | readonly [ProjectionSpec, 'passed_on']

/** Longest text kept of one value, in bytes: model names, error objects. */
const MAX_VALUE_BYTES = 4096
/** Longest usage object kept, in bytes; the longest seen have some 70 entries of 250 bytes. Also of a `'text'`. */
const MAX_USAGE_BYTES = 65_536

/** All that is kept of one document, so that a hostile one cannot fill memory. */
export const MAX_DOCUMENT_BYTES = 131_072
export const MAX_ELEMENTS = 1024

/** The result of a scan: the document with everything unwanted left out. */
export interface Extracted {
  /** `undefined` when nothing was found. A value too long to keep is `true` in its place. */
  readonly value: unknown
  /** Text of the last `'usage'` value that was not `null`, as the upstream wrote it. */
  readonly raw: string | null
}

/** A {@link ProjectionSpec} made ready for scanning. Make it once, not per document. */
export type Projection =
  | { readonly kind: 'keep'; readonly isUsage: boolean; readonly maxBytes: number }
  | { readonly kind: 'length' }
  | MembersProjection
  | { readonly kind: 'elements'; readonly element: Projection; readonly isPassedOn: boolean }

export interface MembersProjection {
  readonly kind: 'members'
  readonly members: readonly ProjectedMember[]
  readonly longestKey: number
  /** The members by the length of their keys: nearly every key of a document is as long as one of them or none. */
  readonly byLength: readonly (readonly ProjectedMember[])[]
}

export interface ProjectedMember {
  readonly key: string
  /** The key as most write it: in UTF-8, nothing escaped. */
  readonly bytes: Buffer
  readonly projection: Projection
  /** The short text that was its value in the latest document that had one: nearly every document has the same. */
  readonly latest: { text: string }
}

/** One object or array on the way to wanted values. */
export interface ScanFrame {
  readonly members: Record<string, unknown> | null
  readonly elements: unknown[] | null
  readonly projection: Projection | PathWalk
  key: string
}

export function compileProjection(spec: ProjectionSpec): Projection {
  if (spec === 'length') return { kind: 'length' }
  if (spec === 'value') return { kind: 'keep', isUsage: false, maxBytes: MAX_VALUE_BYTES }
  if (spec === 'usage' || spec === 'text') {
    return { kind: 'keep', isUsage: spec === 'usage', maxBytes: MAX_USAGE_BYTES }
  }
  if (isElements(spec)) {
    return { kind: 'elements', element: compileProjection(spec[0]), isPassedOn: spec[1] === 'passed_on' }
  }
  return projectMembers(
    Object.entries(spec).map(([key, inner]) => ({
      key,
      bytes: Buffer.from(key),
      projection: compileProjection(inner),
      latest: { text: '' },
    })),
  )
}

/** Keeps these members of an object. */
export function projectMembers(members: readonly ProjectedMember[]): MembersProjection {
  const longestKey = Math.max(0, ...members.map(({ bytes }) => bytes.length))
  const byLength = Array.from({ length: longestKey + 1 }, (_, length) =>
    members.filter(({ bytes }) => bytes.length === length),
  )
  return { kind: 'members', members, longestKey, byLength }
}

function isElements(
  spec: ProjectionSpec,
): spec is readonly [ProjectionSpec] | readonly [ProjectionSpec, 'passed_on'] {
  return Array.isArray(spec)
}

/**
 * The wanted member whose key ends in `bytes`; it began there at `from`, or in the chunks before when that is 0.
 * Nearly every key stands whole and unescaped in one chunk, and is compared without being decoded.
 */
export function memberOfKey(
  projection: MembersProjection,
  bytes: Buffer,
  from: number,
  to: number,
  capture: TextCapture,
): ProjectedMember | null {
  const isWhole = from > 0
  const plain = isWhole ? memberNamed(projection, bytes, from, to) : null
  if (plain !== null || (isWhole && !includesBackslash(bytes, from, to))) return plain
  const text = capture.finish(bytes, from, to)
  const key = text === null ? null : parsedJson(`"${text}"`)
  return projection.members.find((member) => member.key === key) ?? null
}

/** Whether a key that names none of the members, as JSON has it between quotes, does so to servers that ignore case. */
export function namesInOtherLetters({ members }: MembersProjection, written: string | null): boolean {
  const key = written === null ? null : parsedJson(`"${written}"`)
  if (typeof key !== 'string') return false
  const folded = fold(key)
  return members.some((member) => fold(member.key) === folded)
}

/** The wanted member whose key stands unescaped in `bytes` from `from` to `to`; `null`: none does. */
function memberNamed(
  { byLength }: MembersProjection,
  bytes: Buffer,
  from: number,
  to: number,
): ProjectedMember | null {
  const candidates = byLength[to - from]
  if (candidates === undefined) return null
  for (let index = 0; index < candidates.length; index += 1) {
    const member = candidates[index]
    if (member !== undefined && isKey(member.bytes, bytes, from)) return member
  }
  return null
}

function isKey(key: Buffer, bytes: Buffer, from: number): boolean {
  for (let index = 0; index < key.length; index += 1) if (bytes[from + index] !== key[index]) return false
  return true
}
