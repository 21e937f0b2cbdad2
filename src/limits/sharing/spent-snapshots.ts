import { isObject, parsedJson } from '../../domain/json.ts'
import { entriesOf, isCount } from './gateway-field.ts'

/** What Postgres had of a client's budgets at one moment. */
export interface SharedSnapshot {
  /** Unlike any other. */
  readonly id: string
  /** Rises from one reading to the next. */
  readonly number: number
  /** Milliseconds since 1970, by Redis's clock. */
  readonly takenAtMs: number
  /** Integer pico-USD by account; below 0 after a large credit. */
  readonly spent: ReadonlyMap<string, bigint>
  /** What waiting jobs reserve, by account; in no `spent`. Absent: nothing. */
  readonly jobs: ReadonlyMap<string, bigint>
  /** The last record of each producer that is in `spent`. */
  readonly offsets: ReadonlyMap<string, number>
}

/** One that is in use, one that is not answered by all yet, and one for what a failover brought back. */
const MAX_SNAPSHOTS = 3

export function serialiseSnapshots(snapshots: readonly SharedSnapshot[]): string {
  return JSON.stringify(
    snapshots.map(({ id, number, takenAtMs, spent, jobs, offsets }) => ({
      i: id,
      n: number,
      t: takenAtMs,
      c: Object.fromEntries([...spent].map(([key, pico]) => [key, `${pico}`])),
      v: Object.fromEntries(offsets),
      ...(jobs.size > 0 ? { j: Object.fromEntries([...jobs].map(([key, pico]) => [key, `${pico}`])) } : {}),
    })),
  )
}

/** Reads what another gateway has written. What is not as it should be is left out. */
export function parseSnapshots(text: string): readonly SharedSnapshot[] {
  const read = parsedJson(text)
  return Array.isArray(read) ? read.flatMap((one) => snapshotFrom(one) ?? []).sort(byAge) : []
}

const PICO = /^-?[0-9]{1,60}$/

function snapshotFrom(value: unknown): SharedSnapshot | null {
  if (!isObject(value) || typeof value.i !== 'string' || !isCount(value.n) || !isCount(value.t)) return null
  const spent = picoByKey(value.c)
  const jobs = picoByKey(value.j)
  const offsets = new Map<string, number>()
  for (const [producer, offset] of entriesOf(value.v)) if (isCount(offset)) offsets.set(producer, offset)
  return { id: value.i, number: value.n, takenAtMs: value.t, spent, jobs, offsets }
}

function picoByKey(value: unknown): ReadonlyMap<string, bigint> {
  const amounts = new Map<string, bigint>()
  for (const [key, pico] of entriesOf(value))
    if (typeof pico === 'string' && PICO.test(pico)) amounts.set(key, BigInt(pico))
  return amounts
}

/** The oldest first. */
function byAge(one: SharedSnapshot, other: SharedSnapshot): number {
  return one.number - other.number || one.takenAtMs - other.takenAtMs || (one.id < other.id ? -1 : 1)
}

/**
 * All of both lists, without those that nothing is based on any more.
 *
 * @param isUsed Whether some account is based on the snapshot.
 */
export function mergeSnapshots(
  known: readonly SharedSnapshot[],
  others: readonly SharedSnapshot[],
  isUsed: (id: string) => boolean,
): readonly SharedSnapshot[] {
  const ids = new Set(known.map(({ id }) => id))
  const added = others.filter(({ id }) => !ids.has(id))
  if (added.length === 0 && known.length <= MAX_SNAPSHOTS) return known
  const all = [...known, ...added].sort(byAge)
  while (all.length > MAX_SNAPSHOTS) {
    const dropped = all.findIndex(({ id }, at) => at < all.length - 1 && !isUsed(id))
    if (dropped < 0) break
    all.splice(dropped, 1)
  }
  return all
}

/** Whether `newer` has counted at least what `older` has. After a restore of Postgres it may be less for a time. */
export function isAhead(newer: ReadonlyMap<string, number>, older: ReadonlyMap<string, number>): boolean {
  for (const [producer, offset] of older) {
    const now = newer.get(producer)
    if (now !== undefined && now < offset) return false
  }
  return true
}
