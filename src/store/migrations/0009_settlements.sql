-- What jobs used, which a later call tells: counted on the day of their submission, without another request.

-- Rows that are no calls: what a call told of another's work. Every row of `calls` is a request or one of these.
alter table daily_usage add column settlements bigint not null default 0;

-- On a settlement: the call that told it, and the call that it settles (null: made by none of ours).
alter table calls add column told_by uuid;
alter table calls add column settles uuid;
-- On a call that was unpriced until its job told what it used: it has, so nothing of it is missing any more.
alter table calls add column settled boolean not null default false;

-- The model that the making call is totalled under as unpriced; null: it is not, or its job has told its use since.
alter table objects add column unpriced_as text;
-- Of a file that a job left: the job. What the file tells is the job's.
alter table objects add column left_by text;
-- A job that has ended and told nothing yet: what it used stands in a file that it left.
alter table objects add column ended_at timestamptz;

update objects o set unpriced_as = c.model
from calls c
where o.job and o.settled_at is null and c.call_id = o.call_id
  and c.day = (o.created_at at time zone 'UTC')::date
  and c.cost_pico is null and coalesce(c.price_id, '') = '';
