-- What calls by the names of `routes` cost, so that budgets may be for such a name: totals have the model that answered.

-- A row for the calls of a row of `daily_usage` that asked for one route. What corrections changed since follows from
-- that row: src/limits/spent/route-spending.ts.
create table route_spending (
  client_id text not null,
  day date not null,
  key_id text not null,
  model text not null,
  upstream text not null,
  price_id text not null,
  route text not null,
  cost_pico numeric not null,
  -- Calls and what was told of jobs, with figures and without a cost: a later price is theirs by their number.
  unpriced numeric not null,
  -- As in `budget_charges`.
  unpriced_pico numeric not null,
  without_figures_pico numeric not null
);
create unique index on route_spending (day, daily_key_hash(client_id, key_id, model, upstream, price_id), route);
create index on route_spending (client_id, day);

-- Jobs that were submitted by a route reserve of its budgets, and are spent of them.
alter table objects add column route text;
