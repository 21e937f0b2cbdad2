-- Whose the objects are that upstreams keep (files, batches, responses, ...), and which jobs have not told what they used.

create table objects (
  upstream text not null,
  -- The id as ids are compared: in lower case.
  folded_id text not null,
  id text not null,
  kind text not null,
  client_id text not null,
  key_id text not null,
  call_id uuid not null,
  -- Of the call that made it; where it is fetched follows from it.
  path text not null default '',
  -- The model that its making named.
  model text,
  created_at timestamptz not null,
  -- A job runs on after the answer that made it, and tells what it used in a later one.
  job boolean not null,
  -- The answer that told so was counted, or the job showed that there is nothing to tell.
  settled_at timestamptz,
  deleted_at timestamptz,
  -- A job that a worker looked at is not looked at before.
  fetch_after timestamptz,
  primary key (upstream, folded_id)
);
create index objects_folded on objects (folded_id);
create index objects_unsettled on objects (created_at) where job and settled_at is null and deleted_at is null;
create index objects_short_lived on objects (created_at) where kind in ('response', 'interaction', 'completion');
create index objects_deleted on objects (deleted_at) where deleted_at is not null;

-- A call that brought the usage of another's object is its creator's; who made it all the same.
alter table calls add column fetched_by_client_id text;
alter table calls add column fetched_by_key_id text;
