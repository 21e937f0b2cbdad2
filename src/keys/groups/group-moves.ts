import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { changing } from '../key-version.ts'

/** Groups one below the other: an organization, a division, a department, a team, a squad. */
export const MOST_LEVELS = 5

/** Before all days, as Postgres writes it: as a text, too, it comes before every day. */
export const BEGINNING = '-infinity'

/** Why a group cannot be there, and on which day. */
export interface Misplaced {
  readonly why: 'cycle' | 'depth'
  readonly day: string
}

/** A row of `group_members`. */
interface Placing {
  readonly id: string
  readonly day: string
  readonly groupId: string | null
}

/**
 * Puts a client or a group into another group (`null`: into none) from a day on, and so takes back what was said of later
 * ones. The transaction holds the lock of `lockKeyVersion`: of two moves that make a cycle together, the later one sees
 * the other.
 */
export async function moveInto(
  pool: Postgres,
  id: string,
  groupId: string | null,
  from: string,
): Promise<'moved' | 'unchanged' | Misplaced> {
  const { rows } = await pool.query<Placing>(
    `select m.id, m.from_day as day, m.group_id as "groupId" from ${SCHEMA}.group_members m
     where m.id = $1 or m.id in (select id from ${SCHEMA}.groups) order by m.from_day`,
    [id],
  )
  const own = rows.filter((row) => row.id === id)
  const standing = own.findLast(({ day }) => day <= from)?.groupId ?? null
  const isNew = isGroupId(id) && own.length === 0 // its row says that it is above all, too
  if (!isNew && standing === groupId && !own.some(({ day }) => day > from)) return 'unchanged'
  const misplaced = groupId === null || !isGroupId(id) ? null : findMisplaced(rows, id, groupId, from)
  if (misplaced !== null) return misplaced
  await pool.query(`delete from ${SCHEMA}.group_members where id = $1 and from_day > $2`, [id, from])
  await pool.query(
    changing(`insert into ${SCHEMA}.group_members (id, from_day, group_id, version)
      select $1, $2, $3, change.version from change
      on conflict (id, from_day) do update set group_id = excluded.group_id, version = excluded.version`),
    [id, from, groupId],
  )
  return 'moved'
}

/** The first day from `from` on, on which a group would be in itself or too deep; `null`: there is none. */
function findMisplaced(
  placings: readonly Placing[],
  id: string,
  groupId: string,
  from: UtcDay | typeof BEGINNING,
): Misplaced | null {
  const days = new Set([from, ...placings.flatMap(({ day }) => (day > from ? [day] : []))])
  for (const day of days) {
    const parents = new Map<string, string | null>()
    for (const row of placings) if (row.day <= day) parents.set(row.id, row.groupId)
    const above = pathFrom(parents, groupId)
    if (above.includes(id)) return { why: 'cycle', day }
    const levels = [...parents.keys()].map((one) => pathFrom(parents, one).indexOf(id) + 1)
    if (above.length + Math.max(1, ...levels) > MOST_LEVELS) return { why: 'depth', day }
  }
  return null
}

/** A group, and all that it is in, the nearest first. */
function pathFrom(parents: ReadonlyMap<string, string | null>, id: string): readonly string[] {
  const path: string[] = []
  for (let at: string | null = id; at !== null; at = parents.get(at) ?? null) path.push(at)
  return path
}

const GROUP_ID = 'grp_'

function isGroupId(id: string): boolean {
  return id.startsWith(GROUP_ID)
}

/** @param random base62 */
export function groupIdOf(random: string): string {
  return `${GROUP_ID}${random}`
}
