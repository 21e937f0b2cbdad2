// Texts of a JSON document by their paths, as the document passes: nothing of it is built or kept.

import { isPlainKey, parsed, type TextCapture } from '../json-text.ts'

/** A path whose text is wanted, such as `tools.container` or `**.file_id`. Arrays on the way do not count. */
export interface WantedPath<Tag extends string> {
  /** Names of members; `**`: any members, or none. */
  readonly path: string
  readonly tag: Tag
  /** Where an object stands in place of the text, its member of this name is meant: `conversation: {id}`. */
  readonly inner?: string
}

/** One place in a document: what is wanted there, and in its members. An array's elements are at the same place. */
export interface PathWalk<Tag extends string = string> {
  readonly kind: 'walk'
  /** The uses that a text here is wanted for; empty: passed over. */
  readonly tags: readonly Tag[]
  readonly longestKey: number
  /** Places of members whose names matter, by the length of the names. */
  readonly byLength: readonly (readonly WalkedMember<Tag>[])[]
  /** The place of all other members; `null`: nothing below is wanted. */
  others: PathWalk<Tag> | null
}

export interface WalkedMember<Tag extends string> {
  /** In lower case. */
  readonly key: string
  readonly bytes: Buffer
  readonly walk: PathWalk<Tag>
}

/** Values nested deeper are refused: servers end there too, and a frame for each level takes memory. */
export const MAX_WALKED_DEPTH = 512

/** A text at a wanted place; `null`: it is too long. */
export type OnText = (walk: PathWalk, text: string | null) => void

/** Longest text that is passed on, in bytes as it is written. */
export const MAX_TEXT_BYTES = 16_384

/** Letters fold, as in Go's `encoding/json`, which takes `File_ID` for `file_id`. */
const FOLDED = new Uint8Array(256).map((_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte))

/**
 * The place of the member whose key ends in `bytes`; it began there at `from`, or in the chunks before when that is 0.
 */
export function placeOfKey(
  walk: PathWalk,
  bytes: Buffer,
  from: number,
  to: number,
  capture: TextCapture,
): PathWalk | null | 'malformed' {
  if (from > 0 && isPlainKey(bytes, from, to)) return walkTo(walk, bytes, from, to)
  const text = capture.finish(bytes, from, to)
  if (text === null) return walk.others
  const key = parsed(`"${text}"`)
  return typeof key === 'string' ? walkToName(walk, key) : 'malformed'
}

interface Pattern<Tag extends string> {
  readonly names: readonly string[]
  readonly wanted: WantedPath<Tag>
}

/** Compiles `paths` once; many documents may be walked by the result. */
export function compilePaths<Tag extends string>(paths: readonly WantedPath<Tag>[]): PathWalk<Tag> {
  const patterns = paths.map((wanted): Pattern<Tag> => ({ names: wanted.path.split('.').map(fold), wanted }))
  const places = new Map<string, PathWalk<Tag>>()
  /** @param reached pattern and how many of its names are behind, as `3:1`. */
  const placeOf = (reached: ReadonlySet<string>): PathWalk<Tag> | null => {
    if (reached.size === 0) return null
    const key = [...reached].sort().join()
    const known = places.get(key)
    if (known !== undefined) return known
    const steps = [...reached].map((text) => stepOf(patterns, text))
    const members = new Map<string, Set<string>>()
    for (const { pattern, at } of steps) {
      const name = nameNext(pattern, at)
      if (name !== null) members.set(name, new Set())
    }
    for (const [name, next] of members)
      for (const step of steps) for (const to of after(step, name)) next.add(to)
    const longestKey = Math.max(0, ...[...members.keys()].map((name) => name.length))
    const byLength: WalkedMember<Tag>[][] = Array.from({ length: longestKey + 1 }, () => [])
    const tags = steps.flatMap(({ pattern, at }) => (at === pattern.names.length ? [pattern.wanted.tag] : []))
    const place: PathWalk<Tag> = {
      kind: 'walk',
      tags: [...new Set(tags)],
      longestKey,
      byLength,
      others: null,
    }
    places.set(key, place)
    place.others = placeOf(new Set(steps.flatMap((step) => after(step, null))))
    for (const [name, next] of members) {
      const walk = placeOf(next)
      if (walk !== null) byLength[name.length]?.push({ key: name, bytes: Buffer.from(name), walk })
    }
    return place
  }
  return placeOf(new Set(patterns.map((_, index) => `${index}:0`))) ?? NOWHERE
}

const NOWHERE: PathWalk<never> = { kind: 'walk', tags: [], longestKey: 0, byLength: [[]], others: null }

interface Step<Tag extends string> {
  readonly index: number
  readonly at: number
  readonly pattern: Pattern<Tag>
}

function stepOf<Tag extends string>(patterns: readonly Pattern<Tag>[], text: string): Step<Tag> {
  const [index = 0, at = 0] = text.split(':').map(Number)
  const pattern = patterns[index]
  if (pattern === undefined) throw new RangeError(`no path has the number ${index}`)
  return { index, at, pattern }
}

/** The name by which a path goes on; `null`: by none, or by any. */
function nameNext<Tag extends string>({ names, wanted }: Pattern<Tag>, at: number): string | null {
  if (at === names.length) return wanted.inner ?? null
  const name = names[at] ?? ''
  return name === '**' ? (names[at + 1] ?? null) : name
}

/** The place of a path behind a member of this name; `null`: of a name that no path knows here. */
function after<Tag extends string>(
  { index, at, pattern }: Step<Tag>,
  name: string | null,
): readonly string[] {
  const isAny = pattern.names[at] === '**'
  const stays = isAny ? [`${index}:${at}`] : []
  if (name === null || nameNext(pattern, at) !== name) return stays
  if (at === pattern.names.length) return [`${index}:${at}`]
  return [...stays, `${index}:${at + (isAny ? 2 : 1)}`]
}

/** A name as servers compare it that ignore case. Two letters beyond ASCII fold into it. */
function fold(name: string): string {
  return name.replaceAll('\u017f', 's').toLowerCase()
}

/** The place of the member whose key stands in `bytes`, in ASCII and unescaped. */
function walkTo(walk: PathWalk, bytes: Buffer, from: number, to: number): PathWalk | null {
  const candidates = walk.byLength[to - from]
  if (candidates === undefined) return walk.others
  for (let index = 0; index < candidates.length; index += 1) {
    const member = candidates[index]
    if (member !== undefined && isFolded(member.bytes, bytes, from)) return member.walk
  }
  return walk.others
}

/** The place of the member of this name, however it was written. */
export function walkToName(walk: PathWalk, name: string): PathWalk | null {
  const folded = fold(name)
  return walk.byLength[folded.length]?.find(({ key }) => key === folded)?.walk ?? walk.others
}

function isFolded(key: Buffer, bytes: Buffer, from: number): boolean {
  for (let index = 0; index < key.length; index += 1) {
    if (key[index] !== FOLDED[bytes[from + index] ?? 0]) return false
  }
  return true
}
