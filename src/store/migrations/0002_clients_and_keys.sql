-- Who may call: clients, and the keys they call with.

create table clients (
  id text primary key,
  name text not null unique,
  disabled boolean not null default false,
  created_at timestamptz not null default now(),
  version bigint not null
);

create index clients_version on clients (version);

create table keys (
  id text primary key,
  client_id text not null references clients,
  name text not null,
  -- What is shown of the key; the secret itself is nowhere.
  prefix text not null,
  -- HMAC-SHA256 of the key under the pepper that pepper_id names.
  digest bytea not null unique check (length(digest) = 32),
  pepper_id text not null,
  -- Names or prefix* patterns; null: every model.
  models text[],
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  version bigint not null
);

create index keys_version on keys (version);
create index keys_client on keys (client_id);

-- Every change of a client or key takes the next number from the one row here and writes it to what it changed.
-- The row stays locked until the change commits, so numbers become visible in their order: who has seen number n
-- has missed nothing at or under it.
create table key_version (
  only_row boolean primary key default true check (only_row),
  version bigint not null
);

insert into key_version (version) values (0);
