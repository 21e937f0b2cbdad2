-- The receipts that closed statements are made of, as hashes: the Merkle tree whose root is signed with a statement.
-- Nothing changes a row.
create table statement_receipts (
  client_id text not null,
  month text not null,
  -- From 0. All but the last have 1,024 calls.
  chunk integer not null,
  -- Its first call: chunks and the calls in them are in the order of days and ids.
  first_day date not null,
  first_call uuid not null,
  -- 16 bytes each.
  calls bytea not null,
  -- 32 bytes each, in the same order.
  hashes bytea not null check (length(hashes) = 2 * length(calls)),
  root bytea not null check (length(root) = 32),
  primary key (client_id, month, chunk)
);
