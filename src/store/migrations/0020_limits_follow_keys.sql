-- A limit of a key goes on with the key that takes its place.

-- The keys that were rotated into `key_id`, one after the other. Their calls count too.
alter table limits add column former_keys text[] not null default '{}';

alter table limit_changes drop constraint limit_changes_action_check;
alter table limit_changes add constraint limit_changes_action_check
  check (action in ('set', 'remove', 'raise', 'top_up', 'rotate'));
