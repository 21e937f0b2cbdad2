import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

const PARTITION = /^call_rows_(\d{4})(\d{2})(\d{2})$/

function partitionOf(day: UtcDay): string {
  return `call_rows_${day.replaceAll('-', '')}`
}

/** The UTC days whose calls can be kept: those with an attached partition. */
export async function selectCallDays(session: Postgres | PostgresSession): Promise<Set<UtcDay>> {
  const { rows } = await session.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = '${SCHEMA}.call_rows'::regclass and not i.inhdetachpending`,
  )
  return new Set(rows.flatMap(({ name }) => dayOf(name) ?? []))
}

/**
 * Keeps the calls of a day from being dropped until the transaction ends. Roll-ups go on.
 *
 * @returns `false`: they are not kept any more.
 */
export async function holdCallDay(session: PostgresSession, day: UtcDay): Promise<boolean> {
  if (!(await selectCallDays(session)).has(day)) return false
  // What `detach ... concurrently` takes too; it waits, or was first, and then the day is missing below.
  await session.query(`lock table only ${SCHEMA}.${partitionOf(day)} in share update exclusive mode`)
  return (await selectCallDays(session)).has(day)
}

/** Today in UTC, by the database's clock. */
export async function selectToday(session: Postgres | PostgresSession): Promise<UtcDay> {
  const { rows } = await session.query<{ today: UtcDay }>(`select (now() at time zone 'UTC')::date as today`)
  return rows[0]?.today ?? ''
}

/**
 * Makes the day's partition as a table of its own, then attaches it: unlike `create table ... partition of`,
 * that does not lock out the roll-up. A table that a run cut in between has left is attached.
 */
export async function addCallDay(session: PostgresSession, day: UtcDay): Promise<void> {
  const table = `${SCHEMA}.${partitionOf(day)}`
  await session.query(`create table if not exists ${table} (like ${SCHEMA}.call_rows including all)`)
  await session.query(
    `alter table ${SCHEMA}.call_rows attach partition ${table} for values from ('${day}') to ('${addDays(day, 1)}')`,
  )
}

/** The comment of a partition that is being dropped: one without it was detached by hand, to be kept. */
const EXPIRED = 'tallygate: expired, to be dropped'

/**
 * Drops the day's partition. Detached first, concurrently, which waits for running roll-ups instead of making
 * new ones wait. Not inside a transaction.
 */
export async function dropCallDay(session: PostgresSession, day: UtcDay): Promise<void> {
  const table = `${SCHEMA}.${partitionOf(day)}`
  await session.query(`comment on table ${table} is '${EXPIRED}'`)
  await session.query(`alter table ${SCHEMA}.call_rows detach partition ${table} concurrently`)
  await dropDetached(session, table, day)
}

/** In one statement, which is a transaction: a table whose kinds are gone might be attached again. */
async function dropDetached(session: PostgresSession, table: string, day: UtcDay): Promise<void> {
  await session.query(`delete from ${SCHEMA}.call_kinds where day = '${day}'; drop table ${table}`)
}

/** Finishes what a run of `dropCallDay` that was cut in the middle has left. */
export async function finishDroppedCallDays(session: PostgresSession): Promise<UtcDay[]> {
  const { rows } = await session.query<{ name: string; attached: boolean; pending: boolean }>(
    `select c.relname as name, i.inhrelid is not null as attached, coalesce(i.inhdetachpending, false) as pending
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid
     where c.relnamespace = '${SCHEMA}'::regnamespace and c.relkind = 'r'
       and obj_description(c.oid, 'pg_class') = '${EXPIRED}'`,
  )
  const dropped: UtcDay[] = []
  for (const { name, attached, pending } of rows) {
    const day = dayOf(name)
    if (day === null) continue
    if (attached) {
      const how = pending ? 'finalize' : 'concurrently'
      await session.query(`alter table ${SCHEMA}.call_rows detach partition ${SCHEMA}.${name} ${how}`)
    }
    await dropDetached(session, `${SCHEMA}.${name}`, day)
    dropped.push(day)
  }
  return dropped
}

function dayOf(partition: string): UtcDay | null {
  const match = PARTITION.exec(partition)
  return match === null ? null : `${match[1]}-${match[2]}-${match[3]}`
}

/**
 * A part of a day's calls and totals: all of some clients' use of some models. A day of millions of calls is
 * worked through part by part, each in a transaction of its own that takes seconds.
 */
export interface DayPart {
  readonly day: UtcDay
  /** Of how many, at least 1. */
  readonly parts: number
  /** From 0. */
  readonly part: number
}

/** Calls and rows of totals in a part: some ten seconds of PostgreSQL's CPU, and 50 MB in the command. */
export interface PartSize {
  readonly calls: number
  readonly rows: number
}

export const PART_SIZE: PartSize = { calls: 1_000_000, rows: 20_000 }

/** Splits a day so that no part is much larger than `size`, unless one client's use of one model is. */
export function splitDay(
  day: UtcDay,
  { calls, rows }: { readonly calls: bigint; readonly rows: bigint },
  size: PartSize,
): readonly DayPart[] {
  const parts = Math.max(1, Math.ceil(Number(calls) / size.calls), Math.ceil(Number(rows) / size.rows))
  return Array.from({ length: parts }, (_, part) => ({ day, parts, part }))
}

/**
 * The condition that a row of `alias` is of the day `$1` and in the part `$3` of `$2`. Rows of calls and of
 * totals are in the same one, as both have a client and a model.
 */
export function inPart(alias: string): string {
  const hash = `hashtext(${alias}.client_id || ' ' || ${alias}.model)`
  return `${alias}.day = $1 and ($2::int = 1 or (${hash} & 2147483647) % $2::int = $3::int)`
}

/** The parameters of `inPart`. */
export function partParameters({ day, parts, part }: DayPart): readonly [UtcDay, number, number] {
  return [day, parts, part]
}
