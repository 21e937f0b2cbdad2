-- Figures of reports: tokens by class and latencies in the sums of days and months that are over, a histogram of the
-- times to the first byte, and refused calls by key, model and limit.

-- Times to the first byte of the same calls, as `buckets`. null: calls were counted here without it, by a release before.
alter table daily_latency add column first_bytes numeric;

-- Which columns and tables the sums of the day or month fill: sums of form 1 lack those below.
alter table summarised_days add column form smallint not null default 1;
alter table summarised_months add column form smallint not null default 1;

-- A worker of the release before may write the sums of a month that was summed up meanwhile, and leaves the marker
-- that it finds. Its rows lack what form 2 has.
create function month_of_older_form() returns trigger
language plpgsql
set search_path from current
as $$
begin
  if new.form = 1 then update summarised_months set form = 1 where month = new.month; end if;
  return new;
end $$;
create trigger month_of_older_form before insert on summarised_months
  for each row execute function month_of_older_form();

do $$
declare
  summed text;
begin
  foreach summed in array array[
    'usage_days', 'usage_days_by_model', 'usage_days_by_client', 'usage_days_by_key', 'usage_days_by_client_model',
    'usage_months', 'usage_months_by_model', 'usage_months_by_client', 'usage_months_by_key',
    'usage_months_by_client_model', 'usage_months_by_key_model'] loop
    execute format('alter table %I add column cache_read_tokens bigint, add column cache_write_tokens bigint,
      add column reasoning_tokens bigint', summed);
  end loop;
end $$;

create table latency_days (day date primary key, buckets numeric not null, first_bytes numeric);
create table latency_days_by_model (model text, like latency_days, primary key (day, model));
create table latency_days_by_client (client_id text, like latency_days, primary key (client_id, day));
create index on latency_days_by_client (day);
create table latency_months (like latency_days, primary key (day));
create table latency_months_by_model (model text, like latency_days, primary key (day, model));
create table latency_months_by_client (client_id text, like latency_days, primary key (client_id, day));
create index on latency_months_by_client (day);
create table latency_months_by_client_model (
  client_id text, model text, like latency_days, primary key (client_id, day, model)
);
create index on latency_months_by_client_model (day);

-- The bucket, from 0, that the given share of the calls of a histogram is within; null: it has none.
create function latency_place(buckets numeric, share numeric) returns integer
language sql immutable parallel safe
set search_path from current
as $$
  select min(place)::integer - 1 from (
    select place, sum(calls) over (order by place) as within, sum(calls) over () as counted
    from unnest(latency_counts(buckets)) with ordinality as b (calls, place)) b
  where counted > 0 and within >= share * counted
$$;

-- The networks that keys are used from, at most 16 of a key and day and what is beyond them.
create table key_networks (
  day date not null,
  key_id text not null,
  network text not null,
  calls bigint not null,
  primary key (day, key_id, network)
);
create index on key_networks (key_id, network, day);

-- Calls that were refused before they went upstream: in no totals. '' stands for what is not known, or not the reason.
-- `refused_calls` stays, as gateways of the release before write it.
create table refusals (
  day date not null,
  client_id text not null,
  key_id text not null,
  model text not null,
  limit_id text not null,
  reason text not null,
  calls bigint not null,
  primary key (day, client_id, key_id, model, limit_id, reason)
);
