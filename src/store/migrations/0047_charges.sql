-- What is charged beside calls: purchases, commitments, credits, storage, taxes. A row that is removed stays.
create table charges (
  id text primary key,
  -- The operator's: of the present ones each has a name of its own.
  name text not null,
  category text not null,
  -- UTC days of one month, both included.
  from_day date not null,
  to_day date not null,
  service text not null,
  -- '': at none.
  upstream text not null,
  -- Of a commitment: what it covers, a name or the beginning of names and `*`. '': all models of its upstream.
  model text not null,
  -- null: of none, which is the operator's own.
  client_id text references clients (id),
  -- Decimal text, and of what. '': not said.
  quantity text not null,
  unit text not null,
  -- Of a commitment: the tokens that it could have served. null: not said.
  capacity_tokens bigint,
  -- 1e-12 USD. Below 0: in favour of whom it is charged.
  amount_pico numeric(38, 0) not null,
  reason text not null,
  -- What it is a part of, and which part, where one without a client was shared out.
  shared_from text references charges (id),
  part text check (part in ('used', 'unused', 'whole')),
  removed_at timestamptz
);
create unique index charges_name on charges (name) where removed_at is null;
create index charges_day on charges (from_day) where removed_at is null;
create index charges_client on charges (client_id, from_day);
create index charges_shared on charges (shared_from) where shared_from is not null;
create trigger record_change after insert or update or delete on charges for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('name', 'category', 'from_day', 'to_day', 'service', 'upstream', 'model', 'client_id',
    'quantity', 'unit', 'capacity_tokens', 'amount_pico', 'reason', 'shared_from', 'part', 'removed_at');

-- What a closed statement has of charges, in pico-USD by their ids. null: it was closed before there were any.
alter table statements add column charges jsonb;
