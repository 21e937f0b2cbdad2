import type { UtcDay } from '../../domain/utc-day.ts'

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
