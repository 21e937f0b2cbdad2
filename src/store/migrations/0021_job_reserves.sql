-- What a job's call reserved of its client's budgets: reserved on until it is known what the job used.

-- Pico-USD, above 0; null: limits did not hold for the call, or the job is older than this column.
alter table objects add column reserved_pico numeric;
create index objects_reserving on objects (client_id, created_at)
  where job and settled_at is null and deleted_at is null and reserved_pico is not null;
