import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { shownPart } from './upstream.ts'
import type { World } from './world.ts'

/** Holds that no part of an operator's key stands in an answer to a client, a log, a row, or an alert. */
export async function holdNoSecret(world: World, key: string): Promise<void> {
  const parts = [key, shownPart(key), key.slice(-12)]
  const found: string[] = []
  const search = (where: string, text: string) => {
    if (parts.some((part) => text.includes(part))) found.push(where)
  }
  for (const answer of world.answers) search('an answer', answer)
  for (const { body } of world.receiver.received) search('an alert', body)
  const names = await readdir(world.stand.folder)
  for (const name of names.filter((one) => one.endsWith('.log')))
    search(name, await readFile(join(world.stand.folder, name), 'utf8'))
  const { pool } = world.stand
  const { rows: tables } = await pool.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables
     where table_schema = 'tallygate' and table_type = 'BASE TABLE'`,
  )
  for (const { name } of tables) {
    const { rowCount } = await pool.query(
      `select from tallygate.${name} t where t::text like any($1) limit 1`,
      [parts.map((part) => `%${part}%`)],
    )
    if (rowCount !== 0) found.push(`table ${name}`)
  }
  expect(found).toEqual([])
  expect(world.answers.some((answer) => answer.includes('upstream_credential_refused'))).toBe(true)
}
