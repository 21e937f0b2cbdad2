-- Keys whose clients sign as AWS's libraries do (Signature Version 4).

alter table keys
  -- The secret is HMAC-SHA256 of the key's id and this, under the pepper that sigv4_pepper_id names: it stands nowhere.
  -- null: the key does not sign.
  add column sigv4_salt bytea check (length(sigv4_salt) = 32),
  add column sigv4_pepper_id text;
