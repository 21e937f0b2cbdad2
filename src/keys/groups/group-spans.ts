import { SCHEMA } from '../../store/connection/schema.ts'

/** From and to which day each client and group was in which group, in SQL. */
export const SPANS = `
  select id, group_id, from_day,
    coalesce(lead(from_day) over (partition by id order by from_day) - 1, 'infinity') as to_day
  from ${SCHEMA}.group_members`

/**
 * Which clients were in a group or below it, and on which days, in SQL: `client_id`, `from_day`, `to_day`, both included,
 * and `part`: the group right below it that led there, or itself. A day of a client is in one row at most.
 *
 * @param groupId A text in SQL; '': above all groups. `part` is then the topmost group, or '' for a client in none; one that
 * never was in any has no row.
 */
export function clientsBelow(groupId: string): string {
  return `
  with recursive spans as materialized (${SPANS}),
  below as (
    select s.id, s.from_day, s.to_day, case when g.id is null then coalesce(s.group_id, '') else g.id end as part
    from spans s left join ${SCHEMA}.groups g on g.id = s.id
    where s.group_id is not distinct from nullif(${groupId}, '')
    union all
    select s.id, greatest(b.from_day, s.from_day), least(b.to_day, s.to_day), b.part
    from below b join spans s on s.group_id = b.id and s.from_day <= b.to_day and s.to_day >= b.from_day)
  select id as client_id, from_day, to_day, part from below
  where id not in (select id from ${SCHEMA}.groups)`
}

/** The same of groups, each with all that it was in and itself: `group_id`, `above_id`, `from_day`, `to_day`. */
export const GROUPS_ABOVE = `
  with recursive spans as materialized (${SPANS}),
  above as (
    select id as group_id, id as above_id, '-infinity'::date as from_day, 'infinity'::date as to_day
    from ${SCHEMA}.groups
    union all
    select a.group_id, s.group_id, greatest(a.from_day, s.from_day), least(a.to_day, s.to_day)
    from above a join spans s on s.id = a.above_id and s.from_day <= a.to_day and s.to_day >= a.from_day
    where s.group_id is not null)
  select group_id, above_id, from_day, to_day from above`
