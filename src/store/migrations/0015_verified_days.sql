-- Days whose totals were found right. A row holds while `summarised_days` has the same attempt for its day: every
-- write to totals of a day deletes that row, so what was verified and what has changed since are never confused.
create table verified_days (
  day date primary key,
  attempt uuid not null,
  verified_at timestamptz not null default now()
);

-- The entries of one day, as verifying and rebuilding it reads them.
create index adjustment_entries_day on adjustment_entries (day);
