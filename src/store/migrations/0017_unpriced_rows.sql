-- The rows of a closed day that still have calls without a cost, so that queries about these read no others. Derived,
-- as the sums are: they hold while the day's row of `summarised_days` does.
create table usage_days_unpriced (
  day date not null,
  client_id text not null,
  key_id text not null,
  model text not null,
  upstream text not null,
  price_id text not null,
  provider text not null,
  unpriced_left bigint not null,
  priced_later bigint,
  input_tokens bigint not null,
  output_tokens bigint not null
);
create index on usage_days_unpriced (day);

-- How many the day has; null: a release before this one has summed it up and did not write them. It is summed up again.
alter table summarised_days add column unpriced_rows bigint;

-- What the table above is for now.
drop index usage_days_by_client_model_day_idx1;
