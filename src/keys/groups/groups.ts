import { randomBase62 } from '../../domain/base62.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { type Postgres, type PostgresSession, sqlStateOf } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { changing } from '../key-version.ts'
import { BEGINNING, groupIdOf, type Misplaced, moveInto } from './group-moves.ts'

/** Clients, and groups of them, that are summed up together. */
export interface Group {
  readonly id: string
  readonly name: string
  /** The one that it is in now; `null`: none. */
  readonly parentId: string | null
  /** How many clients are in it themselves now, and how many groups. */
  readonly clients: number
  readonly groups: number
  readonly createdAt: Date
}

/** `level`: 1 where it is in no other. */
export interface GroupInTree extends Group {
  readonly level: number
}

/** They are listed as a whole, and compared with each other where one moves. */
export const MOST_IN_FORCE = 2_000

/** The present group of every client and group, in SQL: `id`, `group_id`. */
const PRESENT = `(
  select distinct on (id) id, group_id from ${SCHEMA}.group_members order by id, from_day desc)`

/** The id of the group that one client or group is in now, in SQL; null: none. @param id A column, not of a table `placed`. */
export function presentGroupOf(id: string): string {
  return `(select placed.group_id from ${SCHEMA}.group_members placed where placed.id = ${id}
    order by placed.from_day desc limit 1)`
}

/** The ids of all that is in a group or below it now, in SQL. */
export function membersBelow(groupId: string): string {
  return `
  with recursive present as materialized ${PRESENT},
  below as (
    select id from present where group_id = ${groupId}
    union select p.id from below b join present p on p.group_id = b.id)
  select id from below`
}

const SELECT = `
with present as materialized ${PRESENT},
counted as (
  select p.group_id, count(c.id)::int as clients, count(g.id)::int as groups
  from present p left join ${SCHEMA}.clients c on c.id = p.id
  left join ${SCHEMA}.groups g on g.id = p.id
  group by p.group_id)
select g.id, g.name, p.group_id as "parentId", coalesce(n.clients, 0) as clients, coalesce(n.groups, 0) as groups,
  g.created_at as "createdAt"
from ${SCHEMA}.groups g left join present p on p.id = g.id left join counted n on n.group_id = g.id
where g.removed_at is null`

/** Every group that is in force, each behind the one that it is in: a tree, by names. */
export async function selectGroups(pool: Pick<PostgresSession, 'query'>): Promise<readonly GroupInTree[]> {
  const { rows } = await pool.query<Group>(`${SELECT} order by g.name`)
  const below = Map.groupBy(rows, ({ parentId }) => parentId)
  const from = (parentId: string | null, level: number): readonly GroupInTree[] =>
    (below.get(parentId) ?? []).flatMap((group) => [{ ...group, level }, ...from(group.id, level + 1)])
  return from(null, 1)
}

/** By its id, else by its name. */
export async function findGroup(pool: Pick<Postgres, 'query'>, idOrName: string): Promise<Group | null> {
  const { rows } = await pool.query<Group>(`${SELECT} and (g.id = $1 or g.name = $1) order by g.id <> $1`, [
    idOrName,
  ])
  return rows[0] ?? null
}

/** The same of one that may have ended, which only its id finds: sums of days before still have it. */
export async function findGroupOfAnyDay(
  pool: Pick<Postgres, 'query'>,
  idOrName: string,
): Promise<Pick<Group, 'id' | 'name'> | null> {
  const { rows } = await pool.query<Pick<Group, 'id' | 'name'>>(
    `select id, name from ${SCHEMA}.groups where id = $1 or (name = $1 and removed_at is null) order by id <> $1`,
    [idOrName],
  )
  return rows[0] ?? null
}

/**
 * Makes a group. The transaction holds the lock of `lockKeyVersion`.
 *
 * @param parentId `null`: it is in none.
 */
export async function createGroup(
  pool: Postgres,
  name: string,
  parentId: string | null,
): Promise<string | 'taken' | 'full' | Misplaced> {
  const { rows } = await pool.query<{ same: number; all: number }>(
    `select count(*) filter (where name = $1)::int as same, count(*)::int as all from ${SCHEMA}.groups
     where removed_at is null`,
    [name],
  )
  const { same = 0, all = 0 } = rows[0] ?? {}
  if (same > 0) return 'taken'
  if (all >= MOST_IN_FORCE) return 'full'
  const id = groupIdOf(randomBase62(20))
  await pool.query(`insert into ${SCHEMA}.groups (id, name) values ($1, $2)`, [id, name])
  const placed = await moveInto(pool, id, parentId, BEGINNING)
  return typeof placed === 'object' ? placed : id
}

/** Gives a group another name; `false`: another one has it. */
export async function renameGroup(pool: Postgres, id: string, name: string): Promise<boolean> {
  try {
    await pool.query(changing(`update ${SCHEMA}.groups set name = $2 from change where id = $1`), [id, name])
    return true
  } catch (error) {
    if (sqlStateOf(error) === UNIQUE_VIOLATION) return false
    throw error
  }
}

const UNIQUE_VIOLATION = '23505'

/** The ids of the clients and groups that are in a group themselves now. */
export async function selectMembers(pool: Postgres, groupId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from ${PRESENT} p where group_id = $1 order by id`,
    [groupId],
  )
  return rows.map(({ id }) => id)
}

/**
 * Ends a group that has no members. What was used in it before is still shown by its name, which another one may have
 * then. The transaction holds the lock of `lockKeyVersion`.
 *
 * @param today Its last day is the one before.
 */
export async function removeGroup(pool: Postgres, id: string, today: UtcDay): Promise<void> {
  await moveInto(pool, id, null, today)
  await pool.query(changing(`update ${SCHEMA}.groups set removed_at = now() from change where id = $1`), [id])
}
