// Texts of a JSON document by their paths, as the document passes: nothing of it is built or kept.

import { parsedJson } from '../../../domain/json.ts'
import { isPlainKey, type TextCapture } from '../json-text.ts'

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
  const key = parsedJson(`"${text}"`)
  return typeof key === 'string' ? walkToName(walk, key) : 'malformed'
}

/** A path, and how much of it is behind. */
interface Step<Tag extends string> {
  /** Those of one path stand together. */
  readonly number: number
  /** Of a path that ends here. */
  readonly tag: Tag | null
  /** It is at a `**`, so it is also where it was in members of any name. */
  readonly stays: boolean
  /** The name by which it goes on; `null`: by none. */
  readonly name: string | null
  /** Where it is then; `null`: here. */
  readonly to: Step<Tag> | null
}

/** Steps that stay, and what they make of members: the same at all places that have them. */
interface Staying<Tag extends string> {
  readonly number: number
  readonly steps: readonly Step<Tag>[]
  readonly byName: ReadonlyMap<string, readonly Step<Tag>[]>
  readonly members: WalkedMember<Tag>[]
}

/** Compiles `paths` once; many documents may be walked by the result. */
export function compilePaths<Tag extends string>(paths: readonly WantedPath<Tag>[]): PathWalk<Tag> {
  return new PathCompiler<Tag>().compile(paths)
}

/**
 * Most steps stay, and most places have the same of them: their members are made once. Made at each place, they took
 * half of a process's start, and the first call to an endpoint waited for them.
 */
class PathCompiler<Tag extends string> {
  readonly #places = new Map<string, PathWalk<Tag>>()
  readonly #stayings = new Map<string, Staying<Tag>>()
  readonly #bytes = new Map<string, Buffer>()
  /** Fills in the members of places that were made, which may make further ones. */
  readonly #unfilled: (() => void)[] = []

  compile(paths: readonly WantedPath<Tag>[]): PathWalk<Tag> {
    const lengths = paths.map(({ path }) => path.split('.').length)
    const spacing = Math.max(0, ...lengths) + 1
    const starts = paths.map((wanted, index) => firstStep(wanted, index * spacing))
    const start = this.#placeOf(null, starts)
    for (let fill = this.#unfilled.pop(); fill !== undefined; fill = this.#unfilled.pop()) fill()
    return start ?? NOWHERE
  }

  /** The place that is reached by these steps, and by those that stay from the place before. */
  #placeOf(before: Staying<Tag> | null, reached: readonly Step<Tag>[]): PathWalk<Tag> | null {
    const staying = this.#stayingOf(before, reached)
    const moving = inOrder(reached.filter(({ stays }) => !stays))
    if (staying.steps.length + moving.length === 0) return null
    const key = `${staying.number}:${moving.map(({ number }) => number)}`
    const known = this.#places.get(key)
    if (known !== undefined) return known
    const own = byName(moving)
    const longestKey = Math.max(0, ...[...staying.byName.keys(), ...own.keys()].map((name) => name.length))
    const byLength: WalkedMember<Tag>[][] = Array.from({ length: longestKey + 1 }, () => [])
    const tags = moving.flatMap(({ tag }) => (tag === null ? [] : [tag]))
    const place: PathWalk<Tag> = {
      kind: 'walk',
      tags: [...new Set(tags)],
      longestKey,
      byLength,
      others: null,
    }
    this.#places.set(key, place)
    this.#unfilled.push(() => {
      place.others = this.#placeOf(staying, [])
      for (const member of staying.members)
        if (!own.has(member.key)) byLength[member.key.length]?.push(member)
      for (const [name, steps] of own) {
        const member = this.#memberOf(staying, name, [...(staying.byName.get(name) ?? []), ...steps])
        byLength[name.length]?.push(member)
      }
    })
    return place
  }

  #stayingOf(before: Staying<Tag> | null, reached: readonly Step<Tag>[]): Staying<Tag> {
    const added = reached.filter(({ stays }) => stays)
    if (before !== null && added.length === 0) return before
    const steps = inOrder([...(before?.steps ?? []), ...added])
    const key = `${steps.map(({ number }) => number)}`
    const known = this.#stayings.get(key)
    if (known !== undefined) return known
    const staying: Staying<Tag> = {
      number: this.#stayings.size,
      steps,
      byName: byName(steps),
      members: [],
    }
    this.#stayings.set(key, staying)
    for (const [name, going] of staying.byName) staying.members.push(this.#memberOf(staying, name, going))
    return staying
  }

  #memberOf(staying: Staying<Tag>, name: string, going: readonly Step<Tag>[]): WalkedMember<Tag> {
    const walk = this.#placeOf(
      staying,
      going.map((step) => step.to ?? step),
    )
    const bytes = this.#bytes.get(name) ?? Buffer.from(name)
    this.#bytes.set(name, bytes)
    return { key: name, bytes, walk: walk ?? NOWHERE }
  }
}

const NOWHERE: PathWalk<never> = { kind: 'walk', tags: [], longestKey: 0, byLength: [[]], others: null }

/** The steps of a path, numbered from `number`, each with the one that it leads to. */
function firstStep<Tag extends string>(wanted: WantedPath<Tag>, number: number): Step<Tag> {
  const names = wanted.path.split('.').map(fold)
  let [step, next]: [Step<Tag>, Step<Tag> | null] = [
    { number: number + names.length, tag: wanted.tag, stays: false, name: wanted.inner ?? null, to: null },
    null,
  ]
  for (let at = names.length - 1; at >= 0; at -= 1) {
    const stays = names[at] === '**'
    const name = (stays ? names[at + 1] : names[at]) ?? null
    const here = { number: number + at, tag: null, stays, name, to: stays ? next : step }
    next = step
    step = here
  }
  return step
}

function inOrder<Tag extends string>(steps: readonly Step<Tag>[]): readonly Step<Tag>[] {
  return [...new Set(steps)].sort((one, other) => one.number - other.number)
}

/** Those that go on by a name, by that name. */
function byName<Tag extends string>(steps: readonly Step<Tag>[]): ReadonlyMap<string, readonly Step<Tag>[]> {
  const named = new Map<string, Step<Tag>[]>()
  for (const step of steps) {
    if (step.name === null) continue
    const others = named.get(step.name)
    if (others === undefined) named.set(step.name, [step])
    else others.push(step)
  }
  return named
}

/** A name as servers compare it that ignore case. Two letters beyond ASCII fold into it. */
export function fold(name: string): string {
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
