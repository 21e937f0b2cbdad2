-- What a gateway does that cannot ask the others, and which gateways cannot.

-- Of a hard budget: calls beyond its share are refused, or it takes its even part of what was left.
alter table limits add column when_alone text not null default 'refuse' check (when_alone in ('refuse', 'share'));

-- Gateways that run and cannot reach Redis, so that no other takes what they hold. Each says it once a second.
create table cut_off_gateways (
  -- Of one process, and never used again.
  gateway text primary key,
  at timestamptz not null
) with (fillfactor = 50);
