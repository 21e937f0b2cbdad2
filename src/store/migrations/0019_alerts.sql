-- Who gets alerts, what of, and how far each of them got it.

-- Where alerts are sent. `secret` signs what is sent, so it has to be readable here.
create table alert_receivers (
  id text primary key,
  url text not null,
  -- How the body is written.
  format text not null check (format in ('generic', 'slack')),
  secret text not null,
  kinds text[] not null,
  -- Percent of a budget, ascending.
  thresholds integer[] not null,
  -- Only what is about this client; null: everything.
  client_id text references clients,
  created_at timestamptz not null default now(),
  -- null: it gets alerts.
  removed_at timestamptz
);

-- Who added or removed a receiver.
create table alert_receiver_changes (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  who text not null,
  receiver_id text not null references alert_receivers,
  change text not null check (change in ('add', 'remove'))
);

-- What happened. Each is made once: of a budget for a limit and client, period and threshold; else for what it is about
-- and a UTC day.
create table alerts (
  id text primary key,
  kind text not null,
  -- What it is about, for this kind: a limit and a client, a stream, a call.
  subject text not null,
  -- The first day of a budget's period, else the UTC day.
  period date not null,
  -- Percent of a budget, else 0.
  threshold integer not null default 0,
  client_id text,
  -- What receivers get.
  payload json not null,
  at timestamptz not null default now(),
  unique (kind, subject, period, threshold)
);
create index alerts_at on alerts (at);

-- Each alert for each of its receivers.
create table alert_deliveries (
  -- The receiver sees it with every attempt.
  id text primary key,
  alert_id text not null references alerts on delete cascade,
  receiver_id text not null references alert_receivers,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'given_up')),
  -- Those that were begun.
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  -- Not before; while an attempt is under way, when another worker may take it for dead.
  next_at timestamptz not null default now(),
  tried_at timestamptz,
  -- Of the last attempt; null: no answer.
  status integer,
  -- Of the last attempt; null: it succeeded, or none has ended.
  error text,
  delivered_at timestamptz,
  unique (alert_id, receiver_id)
) with (fillfactor = 70);
create index alert_deliveries_waiting on alert_deliveries (next_at) where state = 'waiting';
create index alert_deliveries_receiver on alert_deliveries (receiver_id, created_at);

-- How full the journal of each gateway process is, as it last said: workers do not see the disks of gateways.
create table gateway_journals (
  gateway text primary key,
  uncommitted_records bigint not null,
  uncommitted_bytes bigint not null,
  max_bytes bigint not null,
  oldest_uncommitted_ms bigint not null,
  at timestamptz not null default now()
) with (fillfactor = 50);
