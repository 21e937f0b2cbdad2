-- Newer prices that only a person may take: the old ones stand until then.

create table price_doubts (
  -- As in `price_catalogs`.
  kind text not null check (kind in ('genai-prices', 'litellm')),
  -- The catalog's names of both.
  provider text not null,
  model text not null,
  why text not null,
  -- The model as its source lists it now; null: that cannot be read.
  offered jsonb,
  -- Where it came from: a URL or a file.
  origin text not null,
  -- When it was first seen.
  since timestamptz not null default now(),
  primary key (kind, provider, model)
);
