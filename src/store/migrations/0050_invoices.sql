-- Rows of the providers' own reports and invoices, to be held against totals.

create table invoice_imports (
  id text primary key,
  -- What a later import of the same name replaces, day by day.
  source text not null,
  format text not null,
  -- What it was read from, for people.
  origin text not null,
  billers text[] not null,
  -- UTC days that it covers, both included.
  from_day date not null,
  to_day date not null,
  imported_at timestamptz not null default clock_timestamp()
);
create trigger record_change after insert or update or delete on invoice_imports for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('source', 'format', 'origin', 'billers', 'from_day', 'to_day');

-- Rows that say the same of a day's calls are one.
create table invoice_rows (
  number bigint generated always as identity primary key,
  import_id text not null,
  biller text not null,
  day date not null,
  -- What it is for, in the words of the invoice.
  service text not null,
  -- `usage`, or what is charged beside it.
  kind text not null,
  -- null: the invoice does not say, here and below.
  class text,
  tier text,
  place text,
  account text,
  response_id text,
  -- Millionths of a unit.
  quantity_micro numeric(38, 0),
  unit text,
  -- 1e-12 USD.
  amount_pico numeric(38, 0) not null,
  -- So far the amount may be off by how it was written, 1e-12 USD.
  rounding_pico numeric(38, 0) not null
);
create index invoice_rows_import on invoice_rows (import_id, day);
create index invoice_rows_day on invoice_rows (biller, day);

-- What the last comparison of a month with totals found.
create table invoice_matches (
  biller text not null,
  -- YYYY-MM.
  month text not null,
  -- The imports that it was about.
  imports text[] not null,
  -- 1e-12 USD.
  ours_pico numeric(38, 0) not null,
  invoiced_pico numeric(38, 0) not null,
  -- What nothing explains, in either direction, without its sign.
  unexplained_pico numeric(38, 0) not null,
  matched_at timestamptz not null default clock_timestamp(),
  primary key (biller, month)
);
