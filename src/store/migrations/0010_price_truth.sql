-- Where a gateway sells what: names, providers and whose prices, without addresses or credentials. What it prices by
-- can be built again from this, `price_configurations` and `catalogs`.
alter table gateway_prices add column upstreams jsonb not null default '[]';
