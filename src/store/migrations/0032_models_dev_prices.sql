-- models.dev is a source of prices that a refresh brings.

alter table price_catalogs drop constraint price_catalogs_kind_check;
alter table price_catalogs add constraint price_catalogs_kind_check
  check (kind in ('genai-prices', 'models.dev', 'litellm', 'azure'));
alter table price_doubts drop constraint price_doubts_kind_check;
alter table price_doubts add constraint price_doubts_kind_check
  check (kind in ('genai-prices', 'models.dev', 'litellm', 'azure'));
