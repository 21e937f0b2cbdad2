-- What a call's price hangs on beside its counts, and what is told of it.

-- The service tier its answer named, as the upstream wrote it; null: none.
alter table calls add column service_tier text;
-- What the upstream said the call cost, believed or not, and beside it what our prices say; 1e-12 USD.
alter table calls add column reported_cost_pico numeric(38, 0);
alter table calls add column own_cost_pico numeric(38, 0);
-- Whether the two are more than one in a hundred apart.
alter table calls add column cost_differs boolean not null default false;
-- Whether something that was counted had no price, so that the cost is not all of it.
alter table calls add column partly_unpriced boolean not null default false;
create index calls_cost_differs on calls (day) where cost_differs;

-- What a gateway prices by, as of its last start or reload, so that whoever prices the past prices it alike.
create table price_configurations (
  hash text primary key,
  -- The settings, and the source of the catalog.
  configuration jsonb not null,
  first_seen timestamptz not null default now()
);
create table gateway_prices (
  gateway text primary key,
  hash text not null references price_configurations,
  at timestamptz not null default now()
);
