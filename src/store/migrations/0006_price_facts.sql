-- What a call's price hangs on, beside its counts.

-- The service tier its answer named, as the upstream wrote it; null: none.
alter table calls add column service_tier text;
-- What the upstream said the call cost, believed or not; 1e-12 USD.
alter table calls add column reported_cost_pico numeric(38, 0);
-- Whether something that was counted had no price, so that the cost is not all of it.
alter table calls add column partly_unpriced boolean not null default false;
