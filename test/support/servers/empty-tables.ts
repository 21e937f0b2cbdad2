interface Database {
  query(statement: string): Promise<unknown>
}

/**
 * Deletes all rows of these tables of our schema, and of those that refer to them, as `truncate … cascade` would. That
 * makes new files for every partition and index, which takes 400 ms where this takes 20.
 */
export async function emptyTables(database: Database, tables: readonly string[]): Promise<void> {
  const names = tables.map((name) => `'tallygate.${name}'`).join(', ')
  await database.query(
    `do $$
     declare found regclass;
     begin
       set local session_replication_role = replica;
       for found in
         with recursive emptied (id) as (
           select unnest(array[${names}]::regclass[])::oid
           union
           select conrelid from pg_constraint join emptied on confrelid = id where contype = 'f'
         )
         select id from emptied
       loop
         execute format('delete from %s', found);
       end loop;
     end $$`,
  )
}
