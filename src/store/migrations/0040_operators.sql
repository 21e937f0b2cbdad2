-- Operators' tokens, tokens that show clients their own figures, and who changed what.

create table operator_tokens (
  id text primary key,
  name text not null,
  role text not null check (role in ('read', 'write', 'admin')),
  -- The beginning of the token, to tell it by. The token itself stands nowhere.
  prefix text not null,
  digest bytea not null unique check (length(digest) = 32),
  pepper_id text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  -- A person got it by signing in: as many as there are browsers, under the name that the audit has.
  is_person boolean not null default false
);
-- Of other tokens that are in force, each has a name of its own: the audit names who did something by it.
create unique index operator_tokens_name on operator_tokens (name) where revoked_at is null and not is_person;

create table portal_tokens (
  id text primary key,
  client_id text not null references clients (id),
  -- The key that it was exchanged for, and ends with. null: an operator made it.
  key_id text references keys (id),
  prefix text not null,
  digest bytea not null unique check (length(digest) = 32),
  pepper_id text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index portal_tokens_client on portal_tokens (client_id, created_at);

-- Each change that an operator made, and is never deleted.
create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  -- The name of the token, or the user of the command line.
  who text not null,
  -- The address that it came from, or the machine of the command line.
  origin text not null,
  operation text not null,
  -- The ids that the operation was about. null: it has not ended.
  about jsonb
);
create index audit_who on audit (who, id);
create index audit_operation on audit (operation, id);

-- Rows that such a change made, changed or removed: what differs, before and after.
create table audit_changes (
  audit_id bigint not null references audit (id),
  place integer not null,
  what text not null,
  row_id text not null,
  before jsonb,
  after jsonb,
  primary key (audit_id, place)
);
create index audit_changes_row on audit_changes (row_id, audit_id);

-- Its arguments are the columns that may be shown: a column that is added later is left out until it is named. One change
-- keeps 1,000 rows at most.
create function record_change() returns trigger language plpgsql as $$
declare
  audited constant bigint := current_setting('tallygate.audit')::bigint;
  place constant integer := coalesce(nullif(current_setting('tallygate.audit_rows', true), '')::integer, 0) + 1;
  was jsonb := case when tg_op = 'INSERT' then '{}' else to_jsonb(old) end;
  now_is jsonb := case when tg_op = 'DELETE' then '{}' else to_jsonb(new) end;
  before jsonb;
  after jsonb;
begin
  -- Numbers are shown as text: an amount of pico-USD may be too long for the numbers of JSON's readers.
  select jsonb_object_agg(name, case jsonb_typeof(was -> name) when 'number' then to_jsonb(was ->> name) else was -> name end)
      filter (where was ? name),
    jsonb_object_agg(name, case jsonb_typeof(now_is -> name) when 'number' then to_jsonb(now_is ->> name) else now_is -> name end)
      filter (where now_is ? name)
  into before, after
  from unnest(tg_argv) name where was -> name is distinct from now_is -> name;
  if place > 1000 or (before is null and after is null) then
    return null;
  end if;
  insert into tallygate.audit_changes (audit_id, place, what, row_id, before, after)
  values (audited, place, tg_table_name, coalesce(now_is ->> 'id', was ->> 'id'), before, after);
  perform set_config('tallygate.audit_rows', place::text, true);
  return null;
end $$;

-- Outside of an operator's change the setting is empty, and a row costs nothing but reading it.
create trigger record_change after insert or update or delete on clients for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('name', 'disabled', 'origin');
create trigger record_change after insert or update or delete on keys for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('client_id', 'name', 'prefix', 'models', 'expires_at', 'revoked_at');
create trigger record_change after insert or update or delete on limits for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('client_id', 'key_id', 'model', 'kind', 'amount', 'per', 'soft', 'since', 'raised_to',
    'raised_until', 'counts_cached', 'allows_unpriced', 'when_alone', 'removed_at');
create trigger record_change after insert or update or delete on alert_receivers for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('format', 'kinds', 'thresholds', 'client_id', 'removed_at');
create trigger record_change after insert or update or delete on operator_tokens for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('name', 'role', 'expires_at', 'revoked_at');
create trigger record_change after insert or update or delete on portal_tokens for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('client_id', 'expires_at', 'revoked_at');
