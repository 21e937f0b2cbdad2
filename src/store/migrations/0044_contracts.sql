-- What operators agreed on with providers: what they pay for calls, from a day on. Costs by it are worked out when asked.
create table contracts (
  id text primary key,
  -- '': at every upstream.
  upstream text not null,
  -- A name, or the beginning of names and `*`. '': all models.
  model text not null,
  -- '': at every tier.
  service_tier text not null,
  from_day date not null,
  -- The part of the list price that is paid, as decimal text.
  factor text not null,
  -- US dollars as decimal text, by the names that the configuration has for prices.
  prices jsonb not null,
  reference text not null default '',
  unique (upstream, model, service_tier, from_day)
);
create trigger record_change after insert or update or delete on contracts for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('upstream', 'model', 'service_tier', 'from_day', 'factor', 'prices', 'reference');

-- What a repricing did to costs at list price, as a JSON list of classes, list prices in pico-USD, and how many more of
-- the class are at that price. Null: it was made by a release that did not keep it, or it is none.
alter table adjustment_entries add column lines jsonb;
