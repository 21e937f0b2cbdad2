-- Sums of usage on their way to billing systems, where `billing` of TALLYGATE_CONFIG names some. Otherwise these tables
-- stay empty.

-- One row each, from when a worker first had it in its configuration.
create table billing_receivers (
  name text primary key,
  kind text not null,
  -- Which worker sends now.
  holder text not null,
  held_until timestamptz not null,
  -- When the ledger was last looked at for what changed; null: never.
  made_at timestamptz,
  sent_events bigint not null default 0,
  sent_at timestamptz,
  -- What keeps events from it; null: nothing.
  problem text,
  problem_at timestamptz
) with (fillfactor = 50);

-- Who a client is there.
create table billing_customers (
  receiver text not null,
  client_id text not null references clients,
  customer text not null,
  subscription text,
  -- The first day that is sent.
  from_day date not null,
  id text generated always as (receiver || '/' || client_id) stored,
  primary key (receiver, client_id)
);
create trigger record_change after insert or update or delete on billing_customers for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('receiver', 'client_id', 'customer', 'subscription', 'from_day');

-- What all events of a day come to, in the unit of the meter.
create table billing_sums (
  receiver text not null,
  day date not null,
  client_id text not null,
  meter text not null,
  -- '': all of them.
  model text not null,
  total numeric not null,
  -- How many events there were.
  changes integer not null,
  primary key (receiver, day, client_id, meter, model)
);

-- Days whose events are made. A row holds while `summarised_days` has the same attempt for its day.
create table billing_days (
  receiver text not null,
  day date not null,
  attempt uuid not null,
  primary key (receiver, day)
);

-- Written in the transaction that changes `billing_sums`. What names an event is its day, client, meter, model and change.
create table billing_events (
  number bigint generated always as identity primary key,
  receiver text not null,
  day date not null,
  client_id text not null,
  meter text not null,
  model text not null,
  -- 1 for the first of its sum.
  change integer not null,
  -- What it adds; negative: it takes back.
  value numeric not null,
  -- The sum with it.
  total numeric not null,
  -- The time that the receiver is told.
  happened_at timestamptz not null,
  made_at timestamptz not null default now(),
  -- `doubtful`: it may have arrived, and the receiver would no longer know it. `replaced`: a later total says it all.
  state text not null default 'waiting'
    check (state in ('waiting', 'sent', 'refused', 'doubtful', 'replaced')),
  attempts integer not null default 0,
  -- Since when it may have arrived; null: it has not.
  tried_at timestamptz,
  sent_at timestamptz,
  error text
) with (fillfactor = 80);
create index billing_events_open on billing_events (receiver, state, number)
  where state in ('waiting', 'refused', 'doubtful');
create index billing_events_sent on billing_events (sent_at) where state in ('sent', 'replaced');
