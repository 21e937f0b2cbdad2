-- Why calls have no cost, calls whose cost is to be looked at, and response ids that came twice.

-- One of src/domain/unpriced-reason.ts; null: it has a cost, or an older release metered it.
alter table calls add column unpriced_reason text;
-- It cost more than CALL_ALERT_USD.
alter table calls add column suspect boolean not null default false;
create index calls_unpriced on calls (day) where cost_pico is null;
create index calls_suspect on calls (day) where suspect;

-- Of `unpriced` calls, those that told no figures, so that no price can be for them.
alter table daily_usage add column without_figures bigint not null default 0;

-- Calls that had a response made under an id that was counted before: counted all the same, and a sign that this
-- upstream's ids are not its own, so that fetches of its responses may be taken for one another. A row a day and upstream, kept: the
-- metric is their sum.
create table response_collisions (
  day date not null,
  upstream text not null,
  calls bigint not null,
  primary key (day, upstream)
);
