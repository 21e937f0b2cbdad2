-- Azure's own retail list is a source of prices of its own.

alter table price_catalogs drop constraint price_catalogs_kind_check;
alter table price_catalogs add constraint price_catalogs_kind_check
  check (kind in ('genai-prices', 'litellm', 'azure'));
alter table price_doubts drop constraint price_doubts_kind_check;
alter table price_doubts add constraint price_doubts_kind_check
  check (kind in ('genai-prices', 'litellm', 'azure'));
