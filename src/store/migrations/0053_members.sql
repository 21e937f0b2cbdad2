-- Members of groups, who sign in with the company's identity provider and make keys of their own.

create table members (
  -- The client that was made for the member.
  id text primary key references clients (id),
  -- The group that the last sign-in made the member an owner of. null: of none.
  owner_of text references groups (id),
  signed_in_at timestamptz not null,
  -- Keys that last end then, unless a sign-in comes before.
  keys_end_at timestamptz not null
);
create trigger record_change after insert or update or delete on members for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('owner_of', 'signed_in_at', 'keys_end_at');

-- A member made it. lasting: each sign-in moves its end. replaced: it was rotated, and its end stays. null: not a member's.
alter table keys add column of_member text check (of_member in ('lasting', 'replaced'));

-- A member signed in: the token can change what the group allows.
alter table portal_tokens add column is_member boolean not null default false;
