-- Roles with the least rights, for a database of its own. Run once, as its owner or a superuser, before
-- `npm run migrate`; then grants.sql. Give each login a password: \password tallygate_gateway, and so on.

-- Owns schema and tables, and has no login.
create role tallygate_owner nologin;
-- `npm run migrate`, and commands that correct totals.
create role tallygate_migrate login in role tallygate_owner;
-- Makes and drops partitions, which only their owner may. What it makes belongs to the owner, so that the next
-- migration may change it.
create role tallygate_worker login in role tallygate_owner;
alter role tallygate_migrate set role tallygate_owner;
alter role tallygate_worker set role tallygate_owner;
-- Reads, and changes clients and keys. It never touches a total.
create role tallygate_gateway login;

do $$ begin
  execute format('grant create on database %I to tallygate_owner', current_database());
end $$;
create schema if not exists tallygate authorization tallygate_owner;
grant usage on schema tallygate to tallygate_gateway;
-- Tables that later releases add too.
alter default privileges for role tallygate_owner in schema tallygate grant select on tables to tallygate_gateway;
