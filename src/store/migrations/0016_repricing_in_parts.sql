-- A repricing makes its rule first, and then brings past days to it one after the other. null: not all of them have it
-- yet, so that the same command goes on with this rule.
alter table repricing_rules add column applied_at timestamptz;
update repricing_rules set applied_at = made_at;
