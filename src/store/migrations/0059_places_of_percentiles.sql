-- The bucket, from 0, that the given share of the calls of a histogram is within; null: it has none. A report that is
-- sorted by a percentile asks for it once a group, and this takes a tenth of the time that rows of buckets took.
create or replace function latency_place(buckets numeric, share numeric) returns integer
language plpgsql immutable strict parallel safe
set search_path from current
as $$
declare
  digits text := buckets::text;
  places integer := (length(digits) + 11) / 12;
  counts bigint[] := '{}';
  counted bigint := 0;
  within bigint := 0;
  wanted numeric;
begin
  digits := lpad(digits, places * 12, '0');
  for place in 0 .. places - 1 loop
    counts[place] := substr(digits, (places - place) * 12 - 11, 12)::bigint;
    counted := counted + counts[place];
  end loop;
  if counted = 0 then return null; end if;
  wanted := share * counted;
  for place in 0 .. places - 1 loop
    within := within + counts[place];
    if within >= wanted then return place; end if;
  end loop;
  return null;
end $$;
