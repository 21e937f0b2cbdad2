-- Rows that stay small: totals by month, rare counts only where there are any, and the histogram in a table of its own.
-- This rewrites `daily_usage` in one transaction, which nothing else writes to meanwhile: see docs/operations.md.

-- What names a row of `daily_usage` on its day, in 16 bytes of SHA-256: the names themselves would make their index as
-- large as the rows. Only a model's name comes from outside, so it stands last: nothing can imitate the
-- separators before it. Backslashes are doubled because the cast to `bytea` would read them.
create function daily_key_hash(client_id text, key_id text, model text, upstream text, price_id text) returns bytea
language sql immutable parallel safe
return substring(sha256(replace(client_id || chr(31) || key_id || chr(31) || upstream || chr(31) || price_id || chr(31)
  || model, chr(92), chr(92) || chr(92))::bytea) from 1 for 16);

-- A histogram is one number: the count of bucket i, from 0 as in src/domain/latency.ts, times 10^(12 i). So adding two
-- is one addition, `sum` merges any number of them, and buckets without calls cost nothing.
create function latency_counts(buckets numeric) returns bigint[]
language sql immutable parallel safe
return (select array_agg(substr(lpad(coalesce(buckets, 0)::text, 528, '0'), 517 - 12 * bucket, 12)::bigint order by bucket)
        from generate_series(0, 43) as bucket);

alter table daily_usage rename to daily_usage_before;
alter index daily_usage_pkey rename to daily_usage_before_pkey;

-- The totals: one row for each UTC day, client, key, model, upstream and price. `price_id` '' is unpriced, or nothing
-- to price. The roll-up only ever adds; `adjusted_pico` and `priced_later` are moved by audited corrections alone.
-- Columns of fixed width come first: they need no padding, and sums find them without reading what stands before.
create table daily_usage (
  requests bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  reasoning_tokens bigint not null,
  -- Parts of `requests` and `settlements`: 2^31 of one row and day are 24,855 calls a second from midnight to midnight.
  reported bigint not null,
  partial bigint not null,
  estimated bigint not null,
  without_usage bigint not null,
  invalid bigint not null,
  unpriced bigint not null,
  errors bigint not null,
  latency_count bigint not null,
  day date not null,
  client_id text not null,
  key_id text not null,
  model text not null,
  upstream text not null,
  provider text not null,
  price_id text not null default '',
  latency_us_sum numeric(38, 0) not null,
  cost_pico numeric(38, 0) not null,
  adjusted_pico numeric(38, 0) not null default 0,
  -- null: 0.
  settlements bigint,
  without_figures bigint,
  priced_later bigint,
  cache_write_5m_tokens bigint,
  cache_write_1h_tokens bigint,
  audio_input_tokens bigint,
  audio_output_tokens bigint,
  image_input_tokens bigint,
  image_output_tokens bigint,
  cache_read_audio_tokens bigint,
  cache_write_12h_tokens bigint,
  cache_read_image_tokens bigint,
  video_input_tokens bigint,
  web_searches bigint,
  search_units bigint,
  images bigint,
  audio_ms bigint,
  characters bigint,
  pages bigint,
  annotated_pages bigint,
  file_searches bigint,
  code_runs bigint,
  x_searches bigint,
  map_searches bigint,
  web_fetches bigint,
  other_tool_calls bigint,
  video_ms bigint,
  citation_tokens bigint,
  trained_tokens bigint,
  estimated_input_tokens bigint,
  estimated_output_tokens bigint
) partition by range (day);
-- The key of the rows.
create unique index daily_usage_row on daily_usage
  (day, daily_key_hash(client_id, key_id, model, upstream, price_id));
create index daily_usage_client on daily_usage (client_id, day);

-- The latencies of the same calls.
create table daily_latency (
  day date not null,
  client_id text not null,
  model text not null,
  -- What `latency_counts` takes apart.
  buckets numeric not null,
  primary key (day, client_id, model)
) partition by range (day);

-- Makes the partitions of the months of these days, as tables of their own that are then attached: unlike `create table
-- ... partition of`, that locks out neither readers nor roll-ups. Its callers come one after the other, under the lock
-- that src/store/connection/advisory-locks.ts calls `partitions`.
create function add_usage_months(days date[]) returns date[]
language plpgsql
set search_path from current
as $$
declare
  month date;
  parent text;
  partition text;
  made date[] := '{}';
begin
  for month in
    select distinct date_trunc('month', day::timestamp)::date from unnest(days) as day order by 1
  loop
    foreach parent in array array['daily_usage', 'daily_latency'] loop
      partition := parent || to_char(month, '_YYYYMM');
      if exists (select from pg_inherits i join pg_class c on c.oid = i.inhrelid
                 where i.inhparent = parent::regclass and c.relname = partition) then
        continue;
      end if;
      execute format('create table if not exists %I (like %I including all)', partition, parent);
      -- Pages are filled: the first changes of a day make the room that its later ones stay in, and the next day's rows
      -- take it. docs/decisions/0022 has the measurement.
      execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.05)', partition);
      -- Without a primary key, logical replication identifies rows by all of their columns.
      if parent = 'daily_usage' then execute format('alter table %I replica identity full', partition); end if;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, partition, month, month + interval '1 month');
      if parent = 'daily_usage' then made := made || month; end if;
    end loop;
  end loop;
  return made;
end $$;

select add_usage_months(array_agg(distinct day)) from (
  select day from daily_usage_before
  -- This month and the next.
  union select (now() at time zone 'UTC')::date
  union select ((now() at time zone 'UTC') + interval '1 month')::date) days;

insert into daily_usage (
  day, client_id, key_id, model, upstream, provider, price_id, requests, reported, partial, estimated,
  without_usage, invalid, unpriced, errors, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, reasoning_tokens, latency_count, latency_us_sum, cost_pico, adjusted_pico,
  settlements, without_figures, priced_later, cache_write_5m_tokens, cache_write_1h_tokens,
  audio_input_tokens, audio_output_tokens, image_input_tokens, image_output_tokens,
  cache_read_audio_tokens, cache_write_12h_tokens, cache_read_image_tokens, video_input_tokens,
  web_searches, search_units, images, audio_ms, characters, pages, annotated_pages, file_searches,
  code_runs, x_searches, map_searches, web_fetches, other_tool_calls, video_ms, citation_tokens,
  trained_tokens, estimated_input_tokens, estimated_output_tokens)
select
  day, client_id, key_id, model, upstream, provider, price_id, requests, reported, partial, estimated,
  without_usage, invalid, unpriced, errors, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, reasoning_tokens, latency_count, latency_us_sum, cost_pico, adjusted_pico,
  nullif(settlements, 0), nullif(without_figures, 0), nullif(priced_later, 0),
  nullif(cache_write_5m_tokens, 0), nullif(cache_write_1h_tokens, 0), nullif(audio_input_tokens, 0),
  nullif(audio_output_tokens, 0), nullif(image_input_tokens, 0), nullif(image_output_tokens, 0),
  nullif(cache_read_audio_tokens, 0), nullif(cache_write_12h_tokens, 0),
  nullif(cache_read_image_tokens, 0), nullif(video_input_tokens, 0), nullif(web_searches, 0),
  nullif(search_units, 0), nullif(images, 0), nullif(audio_ms, 0), nullif(characters, 0), nullif(pages, 0),
  nullif(annotated_pages, 0), nullif(file_searches, 0), nullif(code_runs, 0), nullif(x_searches, 0),
  nullif(map_searches, 0), nullif(web_fetches, 0), nullif(other_tool_calls, 0), nullif(video_ms, 0),
  nullif(citation_tokens, 0), nullif(trained_tokens, 0), nullif(estimated_input_tokens, 0),
  nullif(estimated_output_tokens, 0)
from daily_usage_before order by day, client_id, key_id, model, upstream, price_id;

insert into daily_latency (day, client_id, model, buckets)
select day, client_id, model, sum(calls * ('1' || repeat('0', 12 * bucket::integer - 12))::numeric)
from (
  select day, client_id, model, bucket, sum(count) as calls
  from daily_usage_before, unnest(latency_buckets) with ordinality as b (count, bucket)
  where count > 0 group by day, client_id, model, bucket) b
group by day, client_id, model order by day, client_id, model;

-- Nothing may be lost: each column of each day, as a sum.
do $$
declare
  day_that_differs date;
begin
  select day into day_that_differs from (
    (select day, count(*),
      sum(requests), sum(reported), sum(partial), sum(estimated), sum(without_usage), sum(invalid),
      sum(unpriced), sum(errors), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
      sum(cache_write_tokens), sum(reasoning_tokens), sum(latency_count), sum(latency_us_sum),
      sum(cost_pico), sum(adjusted_pico), sum(settlements), sum(without_figures), sum(priced_later),
      sum(cache_write_5m_tokens), sum(cache_write_1h_tokens), sum(audio_input_tokens),
      sum(audio_output_tokens), sum(image_input_tokens), sum(image_output_tokens),
      sum(cache_read_audio_tokens), sum(cache_write_12h_tokens), sum(cache_read_image_tokens),
      sum(video_input_tokens), sum(web_searches), sum(search_units), sum(images), sum(audio_ms),
      sum(characters), sum(pages), sum(annotated_pages), sum(file_searches), sum(code_runs),
      sum(x_searches), sum(map_searches), sum(web_fetches), sum(other_tool_calls), sum(video_ms),
      sum(citation_tokens), sum(trained_tokens), sum(estimated_input_tokens), sum(estimated_output_tokens)
    from daily_usage_before group by day)
    except all
    (select day, count(*),
      sum(requests), sum(reported), sum(partial), sum(estimated), sum(without_usage), sum(invalid),
      sum(unpriced), sum(errors), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
      sum(cache_write_tokens), sum(reasoning_tokens), sum(latency_count), sum(latency_us_sum),
      sum(cost_pico), sum(adjusted_pico), coalesce(sum(settlements), 0), coalesce(sum(without_figures), 0),
      coalesce(sum(priced_later), 0), coalesce(sum(cache_write_5m_tokens), 0),
      coalesce(sum(cache_write_1h_tokens), 0), coalesce(sum(audio_input_tokens), 0),
      coalesce(sum(audio_output_tokens), 0), coalesce(sum(image_input_tokens), 0),
      coalesce(sum(image_output_tokens), 0), coalesce(sum(cache_read_audio_tokens), 0),
      coalesce(sum(cache_write_12h_tokens), 0), coalesce(sum(cache_read_image_tokens), 0),
      coalesce(sum(video_input_tokens), 0), coalesce(sum(web_searches), 0), coalesce(sum(search_units), 0),
      coalesce(sum(images), 0), coalesce(sum(audio_ms), 0), coalesce(sum(characters), 0),
      coalesce(sum(pages), 0), coalesce(sum(annotated_pages), 0), coalesce(sum(file_searches), 0),
      coalesce(sum(code_runs), 0), coalesce(sum(x_searches), 0), coalesce(sum(map_searches), 0),
      coalesce(sum(web_fetches), 0), coalesce(sum(other_tool_calls), 0), coalesce(sum(video_ms), 0),
      coalesce(sum(citation_tokens), 0), coalesce(sum(trained_tokens), 0),
      coalesce(sum(estimated_input_tokens), 0), coalesce(sum(estimated_output_tokens), 0)
    from daily_usage group by day)) differing limit 1;
  if day_that_differs is null then
    select day into day_that_differs from (
      (select day, array_agg(calls order by bucket) as calls from (
         select day, bucket, sum(count)::bigint as calls
         from daily_usage_before, unnest(latency_buckets) with ordinality as b (count, bucket)
         group by day, bucket) b
       group by day having sum(calls) > 0)
      except all
      (select day, latency_counts(sum(buckets)) from daily_latency group by day)) differing limit 1;
  end if;
  if day_that_differs is not null then
    raise exception 'the totals of % are not the same after the move, so nothing was changed', day_that_differs;
  end if;
  if (select count(*) from daily_usage) <> (select count(*) from daily_usage_before) then
    raise exception 'there are more or fewer daily totals after the move, so nothing was changed';
  end if;
end $$;

drop table daily_usage_before;
drop function add_counts;
analyze daily_usage, daily_latency;

-- Which past days and months have summaries that hold: whoever writes rows of a day deletes its marks.
create table summarised_days (
  day date primary key,
  at timestamptz not null default now()
);
create table summarised_months (
  -- Its first day.
  month date primary key,
  at timestamptz not null default now()
);
