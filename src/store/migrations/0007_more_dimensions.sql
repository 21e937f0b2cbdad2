-- Counts that came later; nothing of them was read before. Adding a column with a constant default rewrites no row.
alter table daily_usage
  add column cache_write_12h_tokens bigint not null default 0,
  add column cache_read_image_tokens bigint not null default 0,
  add column video_input_tokens bigint not null default 0,
  add column annotated_pages bigint not null default 0,
  add column file_searches bigint not null default 0,
  add column code_runs bigint not null default 0,
  add column x_searches bigint not null default 0,
  add column map_searches bigint not null default 0,
  add column web_fetches bigint not null default 0,
  add column other_tool_calls bigint not null default 0,
  add column video_ms bigint not null default 0,
  add column citation_tokens bigint not null default 0,
  add column trained_tokens bigint not null default 0;
alter table calls
  add column cache_write_12h_tokens bigint,
  add column cache_read_image_tokens bigint,
  add column video_input_tokens bigint,
  add column annotated_pages bigint,
  add column file_searches bigint,
  add column code_runs bigint,
  add column x_searches bigint,
  add column map_searches bigint,
  add column web_fetches bigint,
  add column other_tool_calls bigint,
  add column video_ms bigint,
  add column citation_tokens bigint,
  add column trained_tokens bigint;
