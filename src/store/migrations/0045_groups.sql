-- Groups of clients: an organization, its departments, their teams.

create table groups (
  id text primary key,
  name text not null,
  created_at timestamptz not null default now(),
  -- What was used in it before stays its own. null: it is in force.
  removed_at timestamptz
);
create unique index groups_name on groups (name) where removed_at is null;

-- The group that a client, or a group, is in from a UTC day on, until the day of its next row. So nobody is in two, and
-- a move leaves the days before it as they were.
create table group_members (
  -- Of the client or the group. A group has a row from '-infinity' on.
  id text not null,
  from_day date not null,
  -- null: in none.
  group_id text references groups (id),
  -- Of `key_version`, as of clients and keys.
  version bigint not null,
  primary key (id, from_day)
);
create index group_members_version on group_members (version);
create index group_members_group on group_members (group_id);

create trigger record_change after insert or update or delete on groups for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('name', 'removed_at');
create trigger record_change after insert or update or delete on group_members for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('from_day', 'group_id');
