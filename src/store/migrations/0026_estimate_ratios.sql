-- How far the gateways' estimates of tokens are off, learned from calls that reported what they used.

create table estimate_ratios (
  client_id text not null,
  model text not null,
  -- plain, plain_short, tools, tools_short: prompts; answer, answer_short, tool_answer, tool_answer_short.
  kind text not null,
  calls bigint not null,
  -- The natural logarithm of reported over estimated tokens.
  log_ratio double precision not null,
  at timestamptz not null default now(),
  primary key (client_id, model, kind)
);
create index on estimate_ratios (at);
