-- Limits that are tried before they are set. No gateway reads them: workers say what each would have refused.

create table tried_limits (
  -- Never used again, and another one after a change of the terms.
  id bigint generated always as identity primary key,
  -- As in `limits`, here and below.
  client_id text references clients,
  key_id text references keys,
  former_keys text[] not null default '{}',
  model text,
  kind text not null check (kind in ('budget', 'requests', 'tokens', 'concurrent')),
  amount numeric(38, 0) not null check (amount > 0),
  per text check (per in ('day', 'week', 'month', 'total')),
  since date,
  counts_cached boolean not null,
  allows_unpriced boolean not null,
  when_alone text not null,
  -- The first UTC day whose calls it is tried on.
  from_day date not null,
  check (key_id is null or client_id is not null),
  check ((kind = 'budget') = (per is not null)),
  check ((per is not distinct from 'total') = (since is not null))
);
create unique index tried_limits_one on tried_limits
  (coalesce(client_id, ''), coalesce(key_id, ''), coalesce(model, ''), kind, coalesce(per, ''));
create trigger record_change after insert or update or delete on tried_limits for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('client_id', 'key_id', 'model', 'kind', 'amount', 'per', 'since', 'counts_cached',
    'allows_unpriced', 'when_alone', 'from_day');

-- What it would have refused on a UTC day. Each count takes the place of the one before.
create table tried_limit_days (
  limit_id bigint not null references tried_limits on delete cascade,
  day date not null,
  calls bigint not null,
  refused bigint not null,
  -- What those cost, 1e-12 USD.
  refused_pico numeric(38, 0) not null,
  first_refused_at timestamptz,
  last_refused_at timestamptz,
  counted_at timestamptz not null,
  primary key (limit_id, day)
);

-- The same of each client with such calls.
create table tried_limit_clients (
  limit_id bigint not null,
  day date not null,
  client_id text not null,
  calls bigint not null,
  refused bigint not null,
  refused_pico numeric(38, 0) not null,
  -- What of that a budget would not have been charged: later days of its period begin with so much less.
  spared_pico numeric(38, 0) not null,
  primary key (limit_id, day, client_id),
  foreign key (limit_id, day) references tried_limit_days on delete cascade
);
