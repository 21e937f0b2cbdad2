-- Statements that were closed: what a client owed for a month, as it was signed. Nothing changes a row.
create table statements (
  client_id text not null,
  -- YYYY-MM, UTC.
  month text not null check (month ~ '^[0-9]{4}-[0-9]{2}$'),
  -- Canonical JSON; what is hashed and signed is its UTF-8.
  document text not null,
  sha256 bytea not null check (length(sha256) = 32),
  signature bytea not null check (length(signature) = 64),
  public_key bytea not null check (length(public_key) = 32),
  -- What was stated for this month itself, corrections included, and what for each earlier one.
  cost_pico numeric(38, 0) not null,
  carried jsonb not null,
  closed_at timestamptz not null default now(),
  closed_by text not null,
  primary key (client_id, month)
);
