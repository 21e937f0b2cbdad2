-- Price catalogs as gateways price by them, and how their refreshing goes.

create table price_catalogs (
  -- Names kind, day and hash, e.g. `genai-prices@2026-11-22.0123456789ab`; what prices and rules call it.
  source text primary key,
  kind text not null check (kind in ('genai-prices', 'litellm')),
  -- Of the text, and of the text as it was fetched, before old prices were kept in it; hexadecimal.
  sha256 text not null,
  fetched_sha256 text not null,
  -- Where it came from: a URL, a file, or the package.
  origin text not null,
  -- The newest date in the data itself; null: it has none.
  data_day date,
  fetched_at timestamptz not null,
  -- The first UTC day on which prices that it changed are in force.
  in_force_from date not null,
  -- The text compressed by gzip; null: dropped, as newer ones are kept and nothing names it.
  data bytea,
  -- Of the text before it was compressed.
  bytes integer not null
);
create index price_catalogs_fetched on price_catalogs (kind, fetched_sha256);

-- The one in force, by kind.
create table current_price_catalogs (
  kind text primary key,
  source text not null references price_catalogs,
  since timestamptz not null default now()
);

-- The last attempt to refresh, by kind.
create table price_refreshes (
  kind text primary key,
  attempted_at timestamptz not null,
  outcome text not null check (outcome in ('taken', 'unchanged', 'refused', 'unreachable')),
  -- Why nothing was taken; null: nothing was wrong.
  problem text,
  url text not null,
  -- What the server called the data that was last taken or found unchanged.
  etag text,
  -- When the data was last known to be fresh; null: never.
  fresh_at timestamptz
);
