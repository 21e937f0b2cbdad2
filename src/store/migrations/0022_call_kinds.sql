-- A single call in two parts: what many calls of a day have alike stands once in `call_kinds`, the rest in
-- `call_rows`. Read as one in `calls`, a view with the columns that the table had.

-- Rows of one day have these alike. They go with the day's calls.
create table call_kinds (
  day date not null,
  kind bigint generated always as identity,
  -- Of what the worker knows it by: src/usage/calls/call-kinds.ts.
  hash uuid not null,
  client_id text not null,
  -- The client's name when the kind was first rolled up under it.
  client text not null,
  key_id text not null,
  upstream text not null,
  provider text not null,
  model text not null,
  method text not null,
  status integer,
  outcome text not null,
  usage_source text not null,
  failed_in_body boolean not null,
  web_socket boolean not null,
  partly_unpriced boolean not null,
  price_id text,
  unpriced_reason text,
  -- Null where calls have none, or one of their own in `call_rows`.
  requested_model text,
  reported_model text,
  path text,
  service_tier text,
  -- The usage as the upstream wrote it, each run of digits a #.
  usage_shape text,
  primary key (day, kind)
);
create unique index on call_kinds (day, hash, client);
-- A new day's kinds are few beside those of all days. As long as the statistics lack it, the planner takes the day for
-- empty, and may go through all of its kinds for each of its calls.
alter table call_kinds set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100);

-- One row per call, a partition a day, made ahead and dropped by the prune job. What is here is what was
-- totalled: grouping by day, client_id, key_id, model, upstream and price_id gives `daily_usage` again.
create table call_rows (
  arrived_at timestamptz not null,
  kind bigint not null,
  input_tokens bigint,
  output_tokens bigint,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  cache_write_5m_tokens bigint,
  cache_write_1h_tokens bigint,
  cache_write_12h_tokens bigint,
  reasoning_tokens bigint,
  audio_input_tokens bigint,
  audio_output_tokens bigint,
  image_input_tokens bigint,
  image_output_tokens bigint,
  video_input_tokens bigint,
  cache_read_audio_tokens bigint,
  cache_read_image_tokens bigint,
  citation_tokens bigint,
  trained_tokens bigint,
  web_searches bigint,
  search_units bigint,
  images bigint,
  audio_ms bigint,
  video_ms bigint,
  characters bigint,
  pages bigint,
  annotated_pages bigint,
  file_searches bigint,
  code_runs bigint,
  x_searches bigint,
  map_searches bigint,
  web_fetches bigint,
  other_tool_calls bigint,
  day date not null,
  call_id uuid not null,
  -- On a settlement: the call that told it, and the call that it settles (null: made by none of ours).
  told_by uuid,
  settles uuid,
  -- On a call that was unpriced until its job told what it used: it has, so nothing of it is missing any more.
  settled boolean not null default false,
  -- It cost more than CALL_ALERT_USD.
  suspect boolean not null default false,
  -- Whether the upstream's word and our prices are more than one in a hundred apart.
  cost_differs boolean not null default false,
  latency_ms numeric(16, 3),
  ttft_ms numeric(16, 3),
  cost_pico numeric(38, 0),
  reported_cost_pico numeric(38, 0),
  own_cost_pico numeric(38, 0),
  response_id text,
  -- The digits of the usage, run by run, between commas; or all of it, where it has no shape.
  usage_digits text,
  usage_raw text,
  -- Of a call that has one of its own.
  requested_model text,
  reported_model text,
  path text,
  service_tier text,
  fetched_by_client_id text,
  fetched_by_key_id text,
  primary key (day, call_id)
) partition by range (day);
create index call_rows_unpriced on call_rows (day) where cost_pico is null;
create index call_rows_suspect on call_rows (day) where suspect;
create index call_rows_cost_differs on call_rows (day) where cost_differs;

create function usage_text(shape text, digits text) returns text
language sql immutable strict parallel safe
return (select coalesce(string_agg(part || coalesce(run, ''), '' order by place), '')
        from rows from (unnest(string_to_array(shape, '#')), unnest(string_to_array(digits, ',')))
          with ordinality as t(part, run, place));

-- What was kept so far. Its kinds are found by no worker, so they only go with their day.
do $$
declare
  before record;
  kind_of_call constant text := $kind$
    day, client_id, client, key_id, upstream, provider, model, method, status, outcome, usage_source, failed_in_body,
    web_socket, partly_unpriced, price_id, unpriced_reason, service_tier,
    case when model <> '(unknown)' then requested_model end,
    case when model <> '(unknown)' then reported_model end,
    case when path !~ '[^/:]{20}' then path end$kind$;
begin
  alter table calls rename to calls_before;
  for before in
    select 'call_rows_' || right(c.relname, 8) as name, pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'calls_before'::regclass and not i.inhdetachpending
  loop
    execute format('create table %I partition of call_rows %s', before.name, before.bound);
  end loop;
  execute format($insert$
    insert into call_kinds (day, client_id, client, key_id, upstream, provider, model, method, status, outcome,
      usage_source, failed_in_body, web_socket, partly_unpriced, price_id, unpriced_reason, service_tier,
      requested_model, reported_model, path, hash)
    select k.*, substr(encode(sha256(convert_to(row(k.*)::text, 'UTF8')), 'hex'), 1, 32)::uuid
    from (select distinct %s from calls_before) as k
  $insert$, kind_of_call);
  analyze call_kinds;
  execute format($insert$
    insert into call_rows (day, call_id, arrived_at, kind, input_tokens, output_tokens, cache_read_tokens,
      cache_write_tokens, cache_write_5m_tokens, cache_write_1h_tokens, cache_write_12h_tokens, reasoning_tokens,
      audio_input_tokens, audio_output_tokens, image_input_tokens, image_output_tokens, video_input_tokens,
      cache_read_audio_tokens, cache_read_image_tokens, citation_tokens, trained_tokens, web_searches, search_units,
      images, audio_ms, video_ms, characters, pages, annotated_pages, file_searches, code_runs, x_searches,
      map_searches, web_fetches, other_tool_calls, told_by, settles, settled, suspect, cost_differs, latency_ms,
      ttft_ms, cost_pico, reported_cost_pico, own_cost_pico, response_id, usage_raw, requested_model,
      reported_model, path, fetched_by_client_id, fetched_by_key_id)
    select c.day, call_id, arrived_at, kind, input_tokens, output_tokens, cache_read_tokens,
      cache_write_tokens, cache_write_5m_tokens, cache_write_1h_tokens, cache_write_12h_tokens, reasoning_tokens,
      audio_input_tokens, audio_output_tokens, image_input_tokens, image_output_tokens, video_input_tokens,
      cache_read_audio_tokens, cache_read_image_tokens, citation_tokens, trained_tokens, web_searches, search_units,
      images, audio_ms, video_ms, characters, pages, annotated_pages, file_searches, code_runs, x_searches,
      map_searches, web_fetches, other_tool_calls, told_by, settles, settled, suspect, cost_differs, latency_ms,
      ttft_ms, cost_pico, reported_cost_pico, own_cost_pico, response_id, usage_raw,
      case when c.model = '(unknown)' then c.requested_model end,
      case when c.model = '(unknown)' then c.reported_model end,
      case when c.path ~ '[^/:]{20}' then c.path end, fetched_by_client_id, fetched_by_key_id
    from calls_before c
    join lateral (select %s) as k on true
    join call_kinds f on f.day = c.day
      and f.hash = substr(encode(sha256(convert_to(row(k.*)::text, 'UTF8')), 'hex'), 1, 32)::uuid
  $insert$, kind_of_call);
end
$$;
analyze call_rows;

-- Left, so that what asks for no column of a kind does not read kinds.
create view calls as
select r.day, r.call_id, r.arrived_at, k.client_id, k.client, k.key_id, k.upstream, k.provider,
  coalesce(r.requested_model, k.requested_model) as requested_model,
  coalesce(r.reported_model, k.reported_model) as reported_model,
  k.model, k.method, coalesce(r.path, k.path) as path, k.status, k.outcome, k.usage_source, k.failed_in_body,
  k.web_socket, r.input_tokens, r.output_tokens, r.cache_read_tokens, r.cache_write_tokens,
  r.cache_write_5m_tokens, r.cache_write_1h_tokens, r.reasoning_tokens, r.audio_input_tokens,
  r.audio_output_tokens, r.image_input_tokens, r.image_output_tokens, r.cache_read_audio_tokens, r.web_searches,
  r.search_units, r.images, r.audio_ms, r.characters, r.pages, r.latency_ms, r.ttft_ms, r.cost_pico, k.price_id,
  r.response_id, coalesce(r.usage_raw, usage_text(k.usage_shape, r.usage_digits)) as usage_raw, k.unpriced_reason,
  r.suspect, r.fetched_by_client_id, r.fetched_by_key_id,
  coalesce(r.service_tier, k.service_tier) as service_tier, r.reported_cost_pico, r.own_cost_pico, r.cost_differs,
  k.partly_unpriced, r.cache_write_12h_tokens, r.cache_read_image_tokens, r.video_input_tokens, r.annotated_pages,
  r.file_searches, r.code_runs, r.x_searches, r.map_searches, r.web_fetches, r.other_tool_calls, r.video_ms,
  r.citation_tokens, r.trained_tokens, r.told_by, r.settles, r.settled
from call_rows r left join call_kinds k on k.day = r.day and k.kind = r.kind;

do $$
declare
  found record;
begin
  -- Who could read the table can read the view.
  for found in
    select distinct case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as reader
    from pg_class c, aclexplode(c.relacl) a
    where c.oid = 'calls_before'::regclass and a.privilege_type = 'SELECT' and a.grantee <> c.relowner
  loop
    execute 'grant select on calls to ' || found.reader;
  end loop;
  -- Days that a pruning which was cut has detached: the next one looks for partitions of `call_rows`.
  for found in
    select c.relname as name from pg_class c left join pg_inherits i on i.inhrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname ~ '^calls_[0-9]{8}$'
      and i.inhrelid is null and obj_description(c.oid, 'pg_class') = 'tallygate: expired, to be dropped'
  loop
    execute format('drop table %I', found.name);
  end loop;
end
$$;
drop table calls_before;
