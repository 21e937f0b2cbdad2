-- Tokens that people got by signing in: as many as there are browsers, under the name that the audit has.
alter table operator_tokens add column is_person boolean not null default false;
drop index operator_tokens_name;
create unique index operator_tokens_name on operator_tokens (name) where revoked_at is null and not is_person;
