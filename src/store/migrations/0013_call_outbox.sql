-- Single calls on their way to Kafka, where CALLS_KAFKA_BROKERS is set. Otherwise these tables stay empty.

-- Pages of events, written in the transaction that counts their calls and deleted once the brokers have them all.
-- `body` is compressed before it comes here. What is deleted is cleared away early: the table is a queue.
create table call_outbox (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  events integer not null,
  body bytea not null
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 5000,
  toast.autovacuum_vacuum_cost_delay = 0
);
alter table call_outbox alter column body set storage external;

-- One row: which worker sends now, how far it is, and what keeps it from sending.
create table call_outbox_state (
  one boolean primary key default true check (one),
  holder text not null,
  held_until timestamptz not null,
  sent_calls bigint not null default 0,
  sent_at timestamptz,
  waiting_calls bigint not null default 0,
  waiting_bytes bigint not null default 0,
  oldest_at timestamptz,
  problem text,
  problem_at timestamptz
) with (fillfactor = 50);

-- Calls that were counted while the outbox was full, by the day that they arrived on: Kafka does not get them.
-- A row for each session of Postgres, so that no transaction waits for another's.
create table call_outbox_skipped (
  day date not null,
  backend integer not null,
  calls bigint not null,
  at timestamptz not null default now(),
  primary key (day, backend)
);
