-- What budgets are charged for calls without a cost: what each had reserved. The totals keep these calls unpriced.

-- A row for the calls of a row of `daily_usage`; no amount is ever taken back. What a repricing gave a cost since
-- follows from the counts of that row: src/limits/spent/charges.ts.
create table budget_charges (
  client_id text not null,
  day date not null,
  key_id text not null,
  model text not null,
  upstream text not null,
  price_id text not null,
  -- Pico-USD of calls that reported figures and had no price.
  unpriced_pico numeric not null,
  -- Of calls that reported none that could ever be priced.
  without_figures_pico numeric not null
);
create unique index on budget_charges (day, daily_key_hash(client_id, key_id, model, upstream, price_id));
create index on budget_charges (client_id, day);

-- Jobs that ended or were deleted before they reported what they used are charged as well.
drop index objects_reserving;
create index objects_reserving on objects (client_id, created_at)
  where job and reserved_pico is not null and (settled_at is null or unpriced_as is not null);
