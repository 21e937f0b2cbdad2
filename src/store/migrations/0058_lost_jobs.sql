-- When a job, or a file that it left, turned out to be gone before anyone had read what it used. Its budget stays charged.
alter table objects add column lost_at timestamptz;
