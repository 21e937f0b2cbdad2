-- Whether the key had come from the network on a day before, as was known when the row was made. Few rows are of new
-- networks, and a list of these reads them alone. null: a gateway of the release before made the row.
alter table key_networks add column known boolean;
create index on key_networks (day) where known is not true;
