import fc from 'fast-check'
import { addDays } from '../../../src/domain/utc-day.ts'
import { BEGINNING, MOST_LEVELS, moveInto } from '../../../src/keys/groups/group-moves.ts'
import { createGroup } from '../../../src/keys/groups/groups.ts'
import type { Postgres } from '../../../src/store/connection/postgres.ts'

/** One goes somewhere: places in the lists of all, and of groups. The last one: into none. */
export interface RandomMove {
  readonly who: number
  readonly where: number
  readonly fromDay: number
}

export function randomMoves(days: number, count: number): fc.Arbitrary<readonly RandomMove[]> {
  const move = fc.record({
    who: fc.nat(1_000),
    where: fc.nat(1_000),
    fromDay: fc.nat(days - 1),
  })
  return fc.array(move, { minLength: count, maxLength: count })
}

/** Who was where on each day, kept as plainly as can be: a table of who is in what for every day there is. */
export class PlainGroups {
  readonly ids: string[] = []
  readonly #days: readonly string[]
  readonly #parents: Map<string, string>[]

  constructor(firstDay: string, days: number) {
    this.#days = Array.from({ length: days }, (_, place) => addDays(firstDay, place))
    this.#parents = this.#days.map(() => new Map())
  }

  /** All groups that a client or group was in on a day, the nearest first. */
  chain(id: string, day: string): readonly string[] {
    const parents = this.#parents[this.#days.indexOf(day)] ?? new Map<string, string>()
    const chain: string[] = []
    for (let at = parents.get(id); at !== undefined; at = parents.get(at)) {
      if (chain.includes(at)) throw new Error('a group is in itself')
      chain.push(at)
    }
    return chain
  }

  /** Moves it from a day on, if on no day a group is in itself or too deep then. Tells whether. */
  move(id: string, groupId: string | null, fromDay: string): boolean {
    const places = this.#days.flatMap((day, place) => (day >= fromDay ? [place] : []))
    const before = places.map((place) => new Map(this.#parents[place]))
    for (const place of places) {
      if (groupId === null) this.#parents[place]?.delete(id)
      else this.#parents[place]?.set(id, groupId)
    }
    if (places.every((place) => this.#isSound(this.#days[place] ?? ''))) return true
    for (const [index, place] of places.entries()) this.#parents[place] = before[index] ?? new Map()
    return false
  }

  #isSound(day: string): boolean {
    try {
      return this.ids.every((id) => this.chain(id, day).length < MOST_LEVELS)
    } catch {
      return false
    }
  }
}

/** Makes groups, and moves them and the clients about, here and in the database. @returns How many were refused. */
export async function moveAbout(
  pool: Postgres,
  plain: PlainGroups,
  groups: number,
  clientIds: readonly string[],
  moves: readonly RandomMove[],
  firstDay: string,
): Promise<{ readonly refused: number; readonly agreed: number }> {
  for (let place = 0; place < groups; place += 1) {
    const parent = place % 3 === 1 ? (plain.ids[place - 1] ?? null) : null
    const id = await createGroup(pool, `group ${firstDay} ${place}`, parent)
    if (typeof id !== 'string') throw new Error('the group is made')
    plain.ids.push(id)
    plain.move(id, parent, BEGINNING)
  }
  let refused = 0
  let agreed = 0
  const all = [...clientIds, ...plain.ids]
  for (const { who, where, fromDay } of moves) {
    const id = all[who % all.length] ?? ''
    const groupId = plain.ids[where % (plain.ids.length + 1)] ?? null
    const from = addDays(firstDay, fromDay)
    const moved = await moveInto(pool, id, groupId, from)
    const isMoved = plain.move(id, groupId, from)
    if (isMoved === (typeof moved === 'string')) agreed += 1
    if (!isMoved) refused += 1
  }
  return { refused, agreed }
}
