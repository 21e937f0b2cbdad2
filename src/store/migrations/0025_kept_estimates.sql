-- Figures that come later take the place of an estimate: what it was, for the entry that takes it back.

-- The use of a job as it was estimated, under the names that it is totalled under; null: nothing is to be taken back.
alter table objects add column estimate jsonb;

-- One that was deleted before it told its use waits on.
drop index objects_unsettled;
create index objects_unsettled on objects (created_at) where job and settled_at is null;
