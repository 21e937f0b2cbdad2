-- Keys that another gateway made and keeps as SHA-256 only, and the accounts there that clients came from.

alter table keys
  -- What the digest is made of: the key itself, or the 64 hex digits of its SHA-256. Programs of the release before read
  -- a row of the second kind as a key that does not exist.
  add column digest_of text not null default 'key' check (digest_of in ('key', 'sha256'));

alter table clients
  -- The account of another gateway that this one was made for, such as `litellm:team:ID`. null: none.
  add column origin text;

create unique index clients_origin on clients (origin) where origin is not null;
