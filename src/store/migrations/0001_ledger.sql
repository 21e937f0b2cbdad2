-- The ledger's side of the database: marks, totals, single calls, and what could not be counted.

-- Streams that gateways write to: what the workers drain.
create table streams (
  name text primary key,
  registered_at timestamptz not null default now()
);

-- One row per run of a gateway process. Every record with a sequence at or under the mark is in the totals.
create table producers (
  id text primary key,
  stream text not null,
  mark bigint not null default 0,
  moved_at timestamptz not null default now()
) with (fillfactor = 70);

-- Sequences that were passed over because their records were not there. A range that is later filled is split
-- off into a row with `filled_at`; the rows of a hole always add up to what it was.
create table ledger_gaps (
  id bigint generated always as identity primary key,
  producer text not null,
  from_seq bigint not null,
  to_seq bigint not null,
  reason text not null,
  recorded_at timestamptz not null default now(),
  filled_at timestamptz,
  check (from_seq >= 1 and from_seq <= to_seq)
);
create index on ledger_gaps (producer, from_seq) where filled_at is null;

-- Records that Postgres refuses or that are none: kept as they came, not in the totals.
create table dead_letters (
  producer text not null,
  sequence bigint not null,
  stream text not null,
  body text not null,
  sqlstate text,
  message text not null,
  at timestamptz not null default now(),
  primary key (producer, sequence)
);

-- The totals. `price_id` '' is unpriced, or nothing to price. The roll-up only ever adds; `adjusted_pico` is
-- moved by audited corrections alone. `latency_buckets[i]` counts calls within the i-th bound of
-- src/domain/latency.ts, the last one all above.
create table daily_usage (
  day date not null,
  client_id text not null,
  key_id text not null,
  model text not null,
  upstream text not null,
  price_id text not null default '',
  provider text not null,
  requests bigint not null,
  reported bigint not null,
  partial bigint not null,
  estimated bigint not null,
  without_usage bigint not null,
  invalid bigint not null,
  unpriced bigint not null,
  errors bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  cache_write_5m_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  reasoning_tokens bigint not null,
  audio_input_tokens bigint not null,
  audio_output_tokens bigint not null,
  image_input_tokens bigint not null,
  image_output_tokens bigint not null,
  cache_read_audio_tokens bigint not null,
  web_searches bigint not null,
  search_units bigint not null,
  images bigint not null,
  audio_ms bigint not null,
  characters bigint not null,
  pages bigint not null,
  estimated_input_tokens bigint not null,
  estimated_output_tokens bigint not null,
  latency_us_sum numeric(38, 0) not null,
  latency_count bigint not null,
  latency_buckets bigint[] not null,
  cost_pico numeric(38, 0) not null,
  adjusted_pico numeric(38, 0) not null default 0,
  primary key (client_id, day, key_id, model, upstream, price_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index on daily_usage (day);

-- Sums two histograms of the same bounds, place by place.
create function add_counts(a bigint[], b bigint[]) returns bigint[]
language sql immutable parallel safe
return (select array_agg(coalesce(x, 0) + coalesce(y, 0) order by i)
        from unnest(a, b) with ordinality as pair(x, y, i));

-- One row per call, a partition a day, made ahead and dropped by the prune job. What is here is what was
-- totalled: grouping by day, client_id, key_id, model, upstream and price_id gives `daily_usage` again.
create table calls (
  day date not null,
  call_id uuid not null,
  arrived_at timestamptz not null,
  client_id text not null,
  -- The client's name when the call was rolled up.
  client text not null,
  key_id text not null,
  upstream text not null,
  provider text not null,
  requested_model text,
  reported_model text,
  -- The name it is totalled under.
  model text not null,
  method text not null,
  path text not null,
  status integer,
  outcome text not null,
  usage_source text not null,
  failed_in_body boolean not null,
  web_socket boolean not null,
  input_tokens bigint,
  output_tokens bigint,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  cache_write_5m_tokens bigint,
  cache_write_1h_tokens bigint,
  reasoning_tokens bigint,
  audio_input_tokens bigint,
  audio_output_tokens bigint,
  image_input_tokens bigint,
  image_output_tokens bigint,
  cache_read_audio_tokens bigint,
  web_searches bigint,
  search_units bigint,
  images bigint,
  audio_ms bigint,
  characters bigint,
  pages bigint,
  latency_ms numeric(16, 3),
  ttft_ms numeric(16, 3),
  cost_pico numeric(38, 0),
  price_id text,
  response_id text,
  usage_raw text,
  primary key (day, call_id)
) partition by range (day);

-- The prices behind `price_id`, as the gateways defined them.
create table prices (
  price_id text primary key,
  definition jsonb not null,
  recorded_at timestamptz not null default now()
);

-- Corrections of past cost: who changed what, when and why, and the sums before and after.
create table adjustments (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  who text not null,
  why text not null,
  scope jsonb not null,
  before_pico numeric(38, 0) not null,
  after_pico numeric(38, 0) not null
);

-- Responses whose usage was counted: the same one fetched again is a request without tokens.
create table responses_seen (
  upstream text not null,
  response_id text not null,
  seen_at timestamptz not null default now(),
  primary key (upstream, response_id)
);
create index on responses_seen (seen_at);
