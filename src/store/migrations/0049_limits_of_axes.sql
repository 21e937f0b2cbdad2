-- Limits of groups, and of values of axes: src/limits/subject.ts.

-- `model` of such a limit has the name of what it is of before the model: so `limits_one` tells it from that of the
-- client, and programs of the release before take it for one of a model that no call has.
alter table limits add column group_id text;
alter table limits add column axis text;
-- null: each value.
alter table limits add column axis_value text;
alter table limits add column subject_model text;
create index limits_axes on limits (client_id, axis) where axis is not null and removed_at is null;

create or replace trigger record_change after insert or update or delete on limits for each row
  when (current_setting('tallygate.audit', true) <> '')
  execute function record_change('client_id', 'key_id', 'model', 'kind', 'amount', 'per', 'soft', 'since', 'raised_to',
    'raised_until', 'counts_cached', 'allows_unpriced', 'when_alone', 'removed_at', 'group_id', 'axis', 'axis_value');

-- What calls with a value of an axis cost, where budgets are for its values: also of values that have no totals of their
-- own. A row for the calls of a row of `daily_usage`, with what corrections changed since, as in `route_spending`.
create table value_spending (
  client_id text not null,
  day date not null,
  key_id text not null,
  model text not null,
  upstream text not null,
  price_id text not null,
  axis text not null,
  value text not null,
  cost_pico numeric not null,
  unpriced numeric not null,
  unpriced_pico numeric not null,
  without_figures_pico numeric not null
);
create unique index value_spending_row on value_spending
  (client_id, axis, value, day, daily_key_hash(client_id, key_id, model, upstream, price_id));
create index value_spending_value on value_spending (axis, value, day);
create index value_spending_day on value_spending (day);
