-- What repairs need: gateways that are asked to read their configuration again, and producers of long ago.

-- When an operator last asked this process to read its configuration again; null: never.
alter table processes add column reload_asked_at timestamptz;

-- Producers that have not moved for long, summed up: one row a stream.
create table folded_sums (
  id integer generated always as identity primary key,
  stream text not null unique,
  producers bigint not null,
  committed bigint not null
);

-- The committed offset of each of them, found by its id and never read as a whole.
create table folded_producers (
  id uuid primary key,
  folded_into integer not null,
  committed bigint not null
);

-- A journal that turns up after all goes on from its offset, whatever the release of the worker: nothing is
-- counted twice.
create function unfold_producer() returns trigger language plpgsql as $$
declare
  folded record;
begin
  if new.id !~ '^[0-9a-f]{32}$' then
    return new;
  end if;
  delete from tallygate.folded_producers where id = new.id::uuid returning folded_into, committed into folded;
  if found then
    update tallygate.folded_sums set producers = producers - 1, committed = committed - folded.committed
    where id = folded.folded_into;
    new.mark := greatest(new.mark, folded.committed);
  end if;
  return new;
end $$;
create trigger unfold_producer before insert on producers for each row execute function unfold_producer();
