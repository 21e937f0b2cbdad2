-- What calls with a value of an axis cost that asked for a route, where budgets for values are for models: one may be for
-- the route's name. A row is as in `value_spending`: src/limits/spent/value-spending.ts.
create table value_route_spending (
  client_id text not null,
  day date not null,
  key_id text not null,
  model text not null,
  upstream text not null,
  price_id text not null,
  axis text not null,
  value text not null,
  route text not null,
  cost_pico numeric not null,
  unpriced numeric not null,
  unpriced_pico numeric not null,
  without_figures_pico numeric not null
);
create unique index value_route_spending_row on value_route_spending
  (client_id, axis, value, day, daily_key_hash(client_id, key_id, model, upstream, price_id), route);
create index value_route_spending_day on value_route_spending (day);
