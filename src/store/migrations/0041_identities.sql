-- Identities that a company's own provider, or the operator's proxy, vouches for.

-- Each is a key without a text: its digest is one of the identity. Programs of the release before read such a row as a
-- key that nobody has.
alter table keys drop constraint keys_digest_of_check;
alter table keys add constraint keys_digest_of_check check (digest_of in ('key', 'sha256', 'identity'));
create index keys_identity on keys (client_id) where digest_of = 'identity';
