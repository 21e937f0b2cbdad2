-- Written by `npm run clickhouse`. Rows of totals that differ, ClickHouse's less the ledger's: there should be none.
select client_id, day, key_id, model, upstream, price_id,
  sum(d_requests) as requests,
  sum(d_reported) as reported,
  sum(d_partial) as partial,
  sum(d_estimated) as estimated,
  sum(d_without_usage) as without_usage,
  sum(d_invalid) as invalid,
  sum(d_unpriced) as unpriced,
  sum(d_errors) as errors,
  sum(d_input_tokens) as input_tokens,
  sum(d_output_tokens) as output_tokens,
  sum(d_cache_read_tokens) as cache_read_tokens,
  sum(d_cache_write_tokens) as cache_write_tokens,
  sum(d_cache_write_5m_tokens) as cache_write_5m_tokens,
  sum(d_cache_write_1h_tokens) as cache_write_1h_tokens,
  sum(d_reasoning_tokens) as reasoning_tokens,
  sum(d_audio_input_tokens) as audio_input_tokens,
  sum(d_audio_output_tokens) as audio_output_tokens,
  sum(d_image_input_tokens) as image_input_tokens,
  sum(d_image_output_tokens) as image_output_tokens,
  sum(d_cache_read_audio_tokens) as cache_read_audio_tokens,
  sum(d_web_searches) as web_searches,
  sum(d_search_units) as search_units,
  sum(d_images) as images,
  sum(d_audio_ms) as audio_ms,
  sum(d_characters) as characters,
  sum(d_pages) as pages,
  sum(d_estimated_input_tokens) as estimated_input_tokens,
  sum(d_estimated_output_tokens) as estimated_output_tokens,
  sum(d_latency_us_sum) as latency_us_sum,
  sum(d_latency_count) as latency_count,
  sum(d_metered_usd) as metered_usd,
  sum(d_adjusted_usd) as adjusted_usd,
  sum(d_cost_usd) as cost_usd,
  sum(d_cache_write_12h_tokens) as cache_write_12h_tokens,
  sum(d_cache_read_image_tokens) as cache_read_image_tokens,
  sum(d_video_input_tokens) as video_input_tokens,
  sum(d_annotated_pages) as annotated_pages,
  sum(d_file_searches) as file_searches,
  sum(d_code_runs) as code_runs,
  sum(d_x_searches) as x_searches,
  sum(d_map_searches) as map_searches,
  sum(d_web_fetches) as web_fetches,
  sum(d_other_tool_calls) as other_tool_calls,
  sum(d_video_ms) as video_ms,
  sum(d_citation_tokens) as citation_tokens,
  sum(d_trained_tokens) as trained_tokens,
  sum(d_settlements) as settlements,
  sum(d_request_bytes) as request_bytes,
  sum(d_answer_bytes) as answer_bytes
from (
  select toString(client_id) as client_id, day, toString(key_id) as key_id, toString(model) as model, toString(upstream) as upstream, toString(price_id) as price_id,
    requests as d_requests,
    reported as d_reported,
    partial as d_partial,
    estimated as d_estimated,
    without_usage as d_without_usage,
    invalid as d_invalid,
    unpriced as d_unpriced,
    errors as d_errors,
    input_tokens as d_input_tokens,
    output_tokens as d_output_tokens,
    cache_read_tokens as d_cache_read_tokens,
    cache_write_tokens as d_cache_write_tokens,
    cache_write_5m_tokens as d_cache_write_5m_tokens,
    cache_write_1h_tokens as d_cache_write_1h_tokens,
    reasoning_tokens as d_reasoning_tokens,
    audio_input_tokens as d_audio_input_tokens,
    audio_output_tokens as d_audio_output_tokens,
    image_input_tokens as d_image_input_tokens,
    image_output_tokens as d_image_output_tokens,
    cache_read_audio_tokens as d_cache_read_audio_tokens,
    web_searches as d_web_searches,
    search_units as d_search_units,
    images as d_images,
    audio_ms as d_audio_ms,
    characters as d_characters,
    pages as d_pages,
    estimated_input_tokens as d_estimated_input_tokens,
    estimated_output_tokens as d_estimated_output_tokens,
    latency_us_sum as d_latency_us_sum,
    latency_count as d_latency_count,
    metered_usd as d_metered_usd,
    adjusted_usd as d_adjusted_usd,
    cost_usd as d_cost_usd,
    cache_write_12h_tokens as d_cache_write_12h_tokens,
    cache_read_image_tokens as d_cache_read_image_tokens,
    video_input_tokens as d_video_input_tokens,
    annotated_pages as d_annotated_pages,
    file_searches as d_file_searches,
    code_runs as d_code_runs,
    x_searches as d_x_searches,
    map_searches as d_map_searches,
    web_fetches as d_web_fetches,
    other_tool_calls as d_other_tool_calls,
    video_ms as d_video_ms,
    citation_tokens as d_citation_tokens,
    trained_tokens as d_trained_tokens,
    settlements as d_settlements,
    request_bytes as d_request_bytes,
    answer_bytes as d_answer_bytes
  from tallygate.daily
  where day between (select min(day) from tallygate.ledger_days) and (select max(day) from tallygate.ledger_days)
  union all
  select coalesce(toString(client_id), '') as client_id, day, coalesce(toString(key_id), '') as key_id, coalesce(toString(model), '') as model, coalesce(toString(upstream), '') as upstream, coalesce(toString(price_id), '') as price_id,
    -requests as d_requests,
    -reported as d_reported,
    -partial as d_partial,
    -estimated as d_estimated,
    -without_usage as d_without_usage,
    -invalid as d_invalid,
    -unpriced as d_unpriced,
    -errors as d_errors,
    -input_tokens as d_input_tokens,
    -output_tokens as d_output_tokens,
    -cache_read_tokens as d_cache_read_tokens,
    -cache_write_tokens as d_cache_write_tokens,
    -cache_write_5m_tokens as d_cache_write_5m_tokens,
    -cache_write_1h_tokens as d_cache_write_1h_tokens,
    -reasoning_tokens as d_reasoning_tokens,
    -audio_input_tokens as d_audio_input_tokens,
    -audio_output_tokens as d_audio_output_tokens,
    -image_input_tokens as d_image_input_tokens,
    -image_output_tokens as d_image_output_tokens,
    -cache_read_audio_tokens as d_cache_read_audio_tokens,
    -web_searches as d_web_searches,
    -search_units as d_search_units,
    -images as d_images,
    -audio_ms as d_audio_ms,
    -characters as d_characters,
    -pages as d_pages,
    -estimated_input_tokens as d_estimated_input_tokens,
    -estimated_output_tokens as d_estimated_output_tokens,
    -latency_us_sum as d_latency_us_sum,
    -latency_count as d_latency_count,
    -metered_usd as d_metered_usd,
    -adjusted_usd as d_adjusted_usd,
    -cost_usd as d_cost_usd,
    -cache_write_12h_tokens as d_cache_write_12h_tokens,
    -cache_read_image_tokens as d_cache_read_image_tokens,
    -video_input_tokens as d_video_input_tokens,
    -annotated_pages as d_annotated_pages,
    -file_searches as d_file_searches,
    -code_runs as d_code_runs,
    -x_searches as d_x_searches,
    -map_searches as d_map_searches,
    -web_fetches as d_web_fetches,
    -other_tool_calls as d_other_tool_calls,
    -video_ms as d_video_ms,
    -citation_tokens as d_citation_tokens,
    -trained_tokens as d_trained_tokens,
    -settlements as d_settlements,
    -request_bytes as d_request_bytes,
    -answer_bytes as d_answer_bytes
  from tallygate.ledger_days)
group by client_id, day, key_id, model, upstream, price_id
having requests <> 0
  or reported <> 0
  or partial <> 0
  or estimated <> 0
  or without_usage <> 0
  or invalid <> 0
  or unpriced <> 0
  or errors <> 0
  or input_tokens <> 0
  or output_tokens <> 0
  or cache_read_tokens <> 0
  or cache_write_tokens <> 0
  or cache_write_5m_tokens <> 0
  or cache_write_1h_tokens <> 0
  or reasoning_tokens <> 0
  or audio_input_tokens <> 0
  or audio_output_tokens <> 0
  or image_input_tokens <> 0
  or image_output_tokens <> 0
  or cache_read_audio_tokens <> 0
  or web_searches <> 0
  or search_units <> 0
  or images <> 0
  or audio_ms <> 0
  or characters <> 0
  or pages <> 0
  or estimated_input_tokens <> 0
  or estimated_output_tokens <> 0
  or latency_us_sum <> 0
  or latency_count <> 0
  or metered_usd <> 0
  or adjusted_usd <> 0
  or cost_usd <> 0
  or cache_write_12h_tokens <> 0
  or cache_read_image_tokens <> 0
  or video_input_tokens <> 0
  or annotated_pages <> 0
  or file_searches <> 0
  or code_runs <> 0
  or x_searches <> 0
  or map_searches <> 0
  or web_fetches <> 0
  or other_tool_calls <> 0
  or video_ms <> 0
  or citation_tokens <> 0
  or trained_tokens <> 0
  or settlements <> 0
  or request_bytes <> 0
  or answer_bytes <> 0
order by client_id, day, key_id, model, upstream, price_id;
