import type { LongSession } from '../connection/long-session.ts'

/**
 * Acts as the owner of the schema until the transaction ends, so that what is made belongs to the same role.
 *
 * @returns `false`: there is no such schema.
 */
export async function takeOwner(session: LongSession, schema: string): Promise<boolean> {
  const { rows } = await session.query<{ role: string; is_own: boolean }>(
    `select quote_ident(pg_get_userbyid(nspowner)) as role, pg_get_userbyid(nspowner) = current_user as is_own
     from pg_namespace where nspname = $1`,
    [schema],
  )
  const [owner] = rows
  if (owner === undefined) return false
  if (!owner.is_own) await session.query(`set local role ${owner.role}`)
  return true
}

/** Gives roles the rights in one schema that they have in another, on what has the same name there. */
export async function copyGrants(session: LongSession, from: string, to: string): Promise<void> {
  const { rows } = await session.query<{ statement: string }>(
    `with held as (
       select format('schema %I', $2::text) as target, '' as columns, x.*, n.nspowner as owner
       from pg_namespace n, aclexplode(n.nspacl) x where n.nspname = $1
       union all
       select format('%s %I.%I', case c.relkind when 'S' then 'sequence' else 'table' end, $2::text, c.relname), '',
         x.*, c.relowner
       from pg_class c, aclexplode(c.relacl) x
       where c.relnamespace = $1::regnamespace and to_regclass(format('%I.%I', $2::text, c.relname)) is not null
       union all
       select format('table %I.%I', $2::text, c.relname), format(' (%I)', a.attname), x.*, c.relowner
       from pg_class c join pg_attribute a on a.attrelid = c.oid, aclexplode(a.attacl) x
       where c.relnamespace = $1::regnamespace and to_regclass(format('%I.%I', $2::text, c.relname)) is not null
     )
     select format('grant %s%s on %s to %s%s', privilege_type, columns, target,
       case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end,
       case when is_grantable then ' with grant option' else '' end) as statement
     from held where grantee <> owner
     union all
     select format('alter default privileges for role %I in schema %I grant %s on %s to %s',
       pg_get_userbyid(d.defaclrole), $2::text, x.privilege_type,
       case d.defaclobjtype when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types' else 'tables' end,
       case x.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(x.grantee)) end)
     from pg_default_acl d, aclexplode(d.defaclacl) x
     where d.defaclnamespace = $1::regnamespace and x.grantee <> d.defaclrole`,
    [from, to],
  )
  for (const { statement } of rows) await session.query(statement)
}
