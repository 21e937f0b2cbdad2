-- The names of axes, which many calls have alike, stand once in the kind: each line of the text without its value. The
-- row has the values, a line each. Where the kind has no names, the row has all of the text, as before.

alter table call_kinds add column axes_shape text;

-- No subquery, so that Postgres puts it into the query that reads it. Four axes are the most there are.
create function axes_text(shape text, kept text) returns text
language sql immutable parallel safe
return case when shape is null then kept
  else split_part(shape, chr(10), 1) || split_part(kept, chr(10), 1)
    || coalesce(chr(10) || nullif(split_part(shape, chr(10), 2), '') || split_part(kept, chr(10), 2), '')
    || coalesce(chr(10) || nullif(split_part(shape, chr(10), 3), '') || split_part(kept, chr(10), 3), '')
    || coalesce(chr(10) || nullif(split_part(shape, chr(10), 4), '') || split_part(kept, chr(10), 4), '')
  end;

create or replace view calls as
select r.day, r.call_id, r.arrived_at, k.client_id, k.client, k.key_id, k.upstream, k.provider,
  coalesce(r.requested_model, k.requested_model) as requested_model,
  coalesce(r.reported_model, k.reported_model) as reported_model,
  k.model, k.method, coalesce(r.path, k.path) as path, k.status, k.outcome, k.usage_source, k.failed_in_body,
  k.web_socket, r.input_tokens, r.output_tokens, r.cache_read_tokens, r.cache_write_tokens,
  r.cache_write_5m_tokens, r.cache_write_1h_tokens, r.reasoning_tokens, r.audio_input_tokens,
  r.audio_output_tokens, r.image_input_tokens, r.image_output_tokens, r.cache_read_audio_tokens, r.web_searches,
  r.search_units, r.images, r.audio_ms, r.characters, r.pages, r.latency_ms, r.ttft_ms, r.cost_pico, k.price_id,
  r.response_id, coalesce(r.usage_raw, usage_text(k.usage_shape, r.usage_digits)) as usage_raw, k.unpriced_reason,
  r.suspect, r.fetched_by_client_id, r.fetched_by_key_id,
  coalesce(r.service_tier, k.service_tier) as service_tier, r.reported_cost_pico, r.own_cost_pico, r.cost_differs,
  k.partly_unpriced, r.cache_write_12h_tokens, r.cache_read_image_tokens, r.video_input_tokens, r.annotated_pages,
  r.file_searches, r.code_runs, r.x_searches, r.map_searches, r.web_fetches, r.other_tool_calls, r.video_ms,
  r.citation_tokens, r.trained_tokens, r.told_by, r.settles, r.settled,
  replace(r.trace_id::text, '-', '') as trace_id, axes_text(k.axes_shape, r.axes) as axes, r.request_bytes,
  r.answer_bytes
from call_rows r left join call_kinds k on k.day = r.day and k.kind = r.kind;
