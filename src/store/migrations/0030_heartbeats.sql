-- What each gateway and worker that runs says of itself every five seconds: src/store/processes/process-report.ts.

-- null: it is of the release before.
alter table processes add column report jsonb;
