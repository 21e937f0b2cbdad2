-- What clients may use: rates, calls at once, and budgets; who changed them; and the calls that they refused.

create table limits (
  -- Never used again.
  id bigint generated always as identity primary key,
  -- null: the default of every client that has none of its own like it.
  client_id text references clients,
  -- null: all keys of the client.
  key_id text references keys,
  -- A name or `prefix*`; null: every model.
  model text,
  kind text not null check (kind in ('budget', 'requests', 'tokens', 'concurrent')),
  -- Pico-USD of a budget; else requests a minute, tokens a minute, calls at once.
  amount numeric(38, 0) not null check (amount > 0),
  -- A higher amount for a while. Over, it stays until another one takes its place.
  raised_to numeric(38, 0) check (raised_to > 0),
  raised_until timestamptz,
  per text check (per in ('day', 'week', 'month', 'total')),
  -- Watched only: it alerts and refuses nothing.
  soft boolean not null default false,
  -- Of a budget for all time: the first UTC day that counts.
  since date,
  -- Of tokens a minute: whether cached prompt tokens count.
  counts_cached boolean not null default true,
  -- Of a hard budget: whether calls of models without a price pass.
  allows_unpriced boolean not null default false,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  -- A removed one stays, so that gateways see it go and the audit can name it.
  removed_at timestamptz,
  version bigint not null,
  check (key_id is null or client_id is not null),
  check ((raised_to is null) = (raised_until is null)),
  check ((kind = 'budget') = (per is not null)),
  check (kind = 'budget' or not soft),
  check ((per is not distinct from 'total') = (since is not null))
);

-- One limit of each sort for whom it holds. Names are never empty, so '' stands for none.
create unique index limits_one on limits
  (coalesce(client_id, ''), coalesce(key_id, ''), coalesce(model, ''), kind, coalesce(per, ''), soft)
  where removed_at is null;
create index limits_version on limits (version);
create index limits_client on limits (client_id);

-- As `key_version` of the keys: every change of a limit takes the next number and keeps the row locked until it
-- commits, so who has seen number n has missed nothing at or under it.
create table limit_version (
  only_row boolean primary key default true check (only_row),
  version bigint not null
);

insert into limit_version (version) values (0);

-- Who changed which limit, when, and from what to what. Nothing deletes a row.
create table limit_changes (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  who text not null,
  action text not null check (action in ('set', 'remove', 'raise', 'top_up')),
  limit_id bigint not null references limits,
  -- null: there was none before, or there is none after.
  before jsonb,
  after jsonb,
  -- Names a payment, so that it tops a budget up once, however often it is sent.
  reference text
);
create index limit_changes_limit on limit_changes (limit_id, id);
create unique index limit_changes_reference on limit_changes (limit_id, reference) where reference is not null;

-- Calls that limits refused. They never went upstream and are in no totals.
create table refused_calls (
  day date not null,
  client_id text not null,
  reason text not null,
  calls bigint not null,
  primary key (day, client_id, reason)
);
