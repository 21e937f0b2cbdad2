import { Client } from 'pg'
import { CLOCK_OFFSET_MS } from '../../clock/clock.ts'

/**
 * In a run whose clock was moved (shift-clock.mjs) a database's clock moves along, since gateways, workers
 * and Postgres must agree on the day. Functions of ours are found before the server's own. Otherwise does
 * nothing.
 */
export async function moveClock(databaseUrl: string, offsetMs = CLOCK_OFFSET_MS): Promise<void> {
  const moved = ['now', 'clock_timestamp'].map(
    (name) =>
      `create or replace function test_clock.${name}() returns timestamptz language sql stable
         as $$ select pg_catalog.${name}() + interval '${offsetMs} milliseconds' $$`,
  )
  const name = new URL(databaseUrl).pathname.slice(1)
  await runMoved(databaseUrl, offsetMs, [
    'create schema if not exists test_clock',
    ...moved,
    `alter database ${name} set search_path = test_clock, pg_catalog, "$user", public`,
  ])
}

/** The same for the columns' defaults: migrations look for functions in a path of their own. */
export async function moveDefaults(databaseUrl: string, offsetMs = CLOCK_OFFSET_MS): Promise<void> {
  await runMoved(databaseUrl, offsetMs, [
    `do $$
     declare found record;
     begin
       for found in select table_name, column_name from information_schema.columns
         where table_schema = 'tallygate' and column_default in ('now()', 'pg_catalog.now()')
       loop
         execute format('alter table tallygate.%I alter column %I set default test_clock.now()',
           found.table_name, found.column_name);
       end loop;
     end $$`,
  ])
}

async function runMoved(databaseUrl: string, offsetMs: number, statements: readonly string[]): Promise<void> {
  if (offsetMs === 0) return
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(statements.join(';'))
  } finally {
    await client.end()
  }
}
