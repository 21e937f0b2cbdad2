-- The gateways and workers that run, as each last said of itself: `doctor` and alerts see their clocks and connections.
create table processes (
  -- host:pid
  process text not null,
  kind text not null check (kind in ('gateway', 'worker')),
  -- To Postgres, that it may take.
  max_connections integer not null,
  -- How far Postgres's clock is ahead of its own; null: not known.
  clock_offset_ms bigint,
  at timestamptz not null default now(),
  primary key (process, kind)
) with (fillfactor = 50);
