-- What calls have on the axes of the configuration: their users, teams, features.

-- One line an axis, `name=value`. Before the name, `-` says that it is in no totals, `~` that its totals are those of
-- `(other)`. A call without any has nothing here.
alter table call_rows add column axes text;
alter table objects add column axes text;

-- A client's axis, and each value that it has had: rows of totals have their numbers.
create table axes (
  id integer generated always as identity primary key,
  client_id text not null,
  name text not null,
  unique (client_id, name)
);
create table axis_values (
  id bigint generated always as identity primary key,
  axis_id integer not null references axes (id),
  value text not null,
  unique (axis_id, value)
);

-- What the calls of a day add up to that have this value. Null stands for 0, as most rows have few counts. What no row
-- has of a client's day in `daily_usage` is that of its calls without a value, so each axis adds up to the whole.
create table axis_usage (
  day date not null,
  axis_id integer not null,
  value_id bigint not null,
  requests bigint,
  reported bigint,
  partial bigint,
  estimated bigint,
  without_usage bigint,
  invalid bigint,
  unpriced bigint,
  errors bigint,
  latency_count bigint,
  input_tokens bigint,
  output_tokens bigint,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  reasoning_tokens bigint,
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
  estimated_output_tokens bigint,
  latency_us_sum numeric,
  cost_pico numeric,
  adjusted_pico numeric
);
create unique index axis_usage_row on axis_usage (axis_id, day, value_id);

-- The part of an adjustment's entry that calls with one value have. Credits by hand have no calls, and days whose calls
-- are gone tell no values: that part has no rows here, and is `(corrected)`.
create table axis_entries (
  day date not null,
  row_hash bytea not null,
  axis_id integer not null,
  value_id bigint not null,
  adjustment_id bigint not null references adjustments (id),
  pico numeric not null,
  priced_calls bigint not null
);
create unique index axis_entries_row on axis_entries (day, row_hash, axis_id, value_id, adjustment_id);

create or replace view calls as
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
  r.citation_tokens, r.trained_tokens, r.told_by, r.settles, r.settled,
  replace(r.trace_id::text, '-', '') as trace_id, r.axes
from call_rows r left join call_kinds k on k.day = r.day and k.kind = r.kind;
