-- Sums of whole days and months that are over, so that an answer reads rows in proportion to what it shows.
-- They are derived: `daily_usage` is the truth. A day's are valid while its row of `summarised_days` has
-- `closed_at`, a month's while its row of `summarised_months` is there. Whoever writes into `daily_usage`
-- deletes those rows in the same transaction.

alter table summarised_days
  -- null: being summed up. Whoever writes meanwhile deletes the row, and the sums are not used.
  add column closed_at timestamptz,
  -- Names one summing up of the day.
  add column attempt uuid not null default gen_random_uuid(),
  -- Prices of the day without a definition: one that comes may say that calls were priced in part only.
  add column unknown_prices text[];

-- `day` is the day, or the first one of the month. Counts that most rows lack are null for 0.
create table usage_days (
  day date primary key,
  requests bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  latency_us_sum numeric not null,
  latency_count bigint not null,
  -- With its corrections, as is `unpriced`.
  cost_pico numeric not null,
  errors bigint,
  unpriced bigint,
  estimated bigint,
  estimated_input_tokens bigint,
  estimated_output_tokens bigint,
  -- Of the rows that still have calls without a cost: these calls, and all of the rows' tokens.
  unpriced_left bigint,
  unpriced_input_tokens bigint,
  unpriced_output_tokens bigint,
  partly_unpriced bigint
);
create table usage_days_by_model (
  model text, upstream text, provider text, like usage_days, primary key (day, model, upstream, provider)
);
create table usage_days_by_client (client_id text, like usage_days, primary key (client_id, day));
create table usage_days_by_key (
  client_id text, key_id text, like usage_days, primary key (client_id, day, key_id)
);
create table usage_days_by_client_model (
  client_id text, model text, like usage_days, primary key (client_id, day, model)
);
-- All clients on some days; rows of a day lie together, as they are written at once.
create index on usage_days_by_client (day);
create index on usage_days_by_key (day);
create index on usage_days_by_client_model (day);
create index on usage_days_by_client_model (day) where unpriced_left > 0;

create table usage_months (like usage_days, primary key (day));
create table usage_months_by_model (
  model text, upstream text, provider text, like usage_days, primary key (day, model, upstream, provider)
);
create table usage_months_by_client (client_id text, like usage_days, primary key (client_id, day));
create table usage_months_by_key (
  client_id text, key_id text, like usage_days, primary key (client_id, day, key_id)
);
create table usage_months_by_client_model (
  client_id text, model text, like usage_days, primary key (client_id, day, model)
);
-- Of this one there is none by day: it would be as long as `daily_usage`.
create table usage_months_by_key_model (
  client_id text, key_id text, model text, like usage_days, primary key (client_id, day, key_id, model)
);
create index on usage_months_by_client (day);
create index on usage_months_by_key (day);
create index on usage_months_by_client_model (day);
create index on usage_months_by_key_model (day);
