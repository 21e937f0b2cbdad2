-- Corrections of cost after the fact: what was changed, by which rule, row by row.

-- Of `unpriced` calls, those that a repricing has given a cost since. `unpriced` itself stays as metered.
alter table daily_usage add column priced_later bigint not null default 0;

-- Price data that a repricing used, once for each source, so that its rule can be computed anywhere at any time.
create table catalogs (
  source text primary key,
  data text not null,
  added_at timestamptz not null default now()
);

alter table adjustments add column kind text not null default 'credit'
  check (kind in ('credit', 'reprice', 'rebuild'));

-- What each adjustment added to `adjusted_pico` of each row: a row's `adjusted_pico` is the sum of its entries.
-- A repricing's entry grows when calls at the old price come in late.
create table adjustment_entries (
  adjustment_id bigint not null references adjustments,
  client_id text not null,
  day date not null,
  key_id text not null,
  model text not null,
  upstream text not null,
  price_id text not null,
  pico numeric(38, 0) not null,
  priced_calls bigint not null default 0,
  at timestamptz not null default now(),
  primary key (adjustment_id, client_id, day, key_id, model, upstream, price_id)
);
create index on adjustment_entries (client_id, day, key_id, model, upstream, price_id);

-- What a repricing does to calls that are rolled up after it: those that arrived before it was made, and those
-- that still come at a price it superseded ('': unpriced). Of several rules for a call the newest decides.
create table repricing_rules (
  adjustment_id bigint primary key references adjustments,
  -- A name, or the beginning of names and a *.
  model text not null,
  -- null: any.
  provider text,
  since date not null,
  made_at timestamptz not null,
  superseded text[] not null,
  catalog_source text not null references catalogs (source),
  -- The operator's own prices and markups, as written.
  settings jsonb not null,
  ended_at timestamptz
);

-- Records that were counted after all, and how.
alter table dead_letters add column resolved_at timestamptz;
