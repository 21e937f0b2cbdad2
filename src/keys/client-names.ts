import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/** The names of these clients, by id. One that is no longer known is absent. */
export async function selectClientNames(
  session: PostgresSession,
  clientIds: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await session.query<{ id: string; name: string }>(
    `select id, name from ${SCHEMA}.clients where id = any($1)`,
    [[...clientIds]],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}
