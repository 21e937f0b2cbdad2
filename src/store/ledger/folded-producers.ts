import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/** Longer than gateways hold the ends of their journals against Postgres, which is 35 days. */
export const FOLD_DAYS = 40
/** Rows of one statement, so that none is held for long. */
const AT_ONCE = 5_000

/**
 * Sums up producers that have not moved for so many days into one row a stream. Their committed offsets stay to be found
 * by their ids, so a journal that turns up after all goes on from there. One that a roll-up has at this moment is left.
 *
 * @param days `FOLD_DAYS` at least.
 * @returns How many.
 */
export async function foldProducers(pool: Postgres, days: number): Promise<number> {
  let folded = 0
  for (;;) {
    const { rows } = await pool.query<{ folded: number }>(FOLD, [Math.max(FOLD_DAYS, days)])
    const done = rows[0]?.folded ?? 0
    folded += done
    if (done < AT_ONCE) return folded
  }
}

const FOLD = `with old as (
    delete from ${SCHEMA}.producers where id in (
      select id from ${SCHEMA}.producers
      where moved_at < now() - make_interval(days => $1) and id ~ '^[0-9a-f]{32}$'
      order by id limit ${AT_ONCE} for update skip locked)
    returning id::uuid as id, stream, mark as committed),
  sums as (
    insert into ${SCHEMA}.folded_sums as f (stream, producers, committed)
    select stream, count(*), sum(committed) from old group by stream order by stream
    on conflict (stream) do update set producers = f.producers + excluded.producers,
      committed = f.committed + excluded.committed
    returning id, stream),
  folded as (
    insert into ${SCHEMA}.folded_producers (id, folded_into, committed)
    select old.id, sums.id, old.committed from old join sums using (stream)
    returning 1)
  select count(*)::int as folded from folded`
