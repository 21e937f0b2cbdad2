import { randomBase62 } from '../domain/base62.ts'
import { type Postgres, type PostgresSession, sqlStateOf } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { membersBelow, presentGroupOf } from './groups/groups.ts'
import { changing } from './key-version.ts'
import { type ListedPage, listedPage, type PageOrder, rowsOf, WHOLE_LIST } from './listed-page.ts'

/** An account: what usage is summed up for. */
export interface Client {
  readonly id: string
  readonly name: string
  readonly disabled: boolean
  readonly createdAt: Date
  /** The name of the group that it is in now; `null`: none. */
  readonly group: string | null
}

interface ClientRow {
  readonly id: string
  readonly name: string
  readonly disabled: boolean
  readonly created_at: Date
  readonly group_name: string | null
}

const COLUMNS = `id, name, disabled, created_at, (
  select g.name from ${SCHEMA}.groups g where g.id = ${presentGroupOf('clients.id')}) as group_name`
const UNIQUE_VIOLATION = '23505'

/** Creates a client; `null`: the name exists. */
export async function createClient(pool: Postgres, name: string): Promise<Client | null> {
  try {
    return await createClientIn(pool, name, null)
  } catch (error) {
    if (sqlStateOf(error) === UNIQUE_VIOLATION) return null
    throw error
  }
}

/**
 * The same within a transaction.
 *
 * @param origin What it was made for, one of a kind; `null`: an operator made it.
 * @throws Where the name exists.
 */
export async function createClientIn(
  session: Pick<Postgres, 'query'> | PostgresSession,
  name: string,
  origin: string | null,
): Promise<Client | null> {
  const { rows } = await (session as PostgresSession).query<ClientRow>(
    changing(`insert into ${SCHEMA}.clients (id, name, origin, version)
              select $1, $2, $3, change.version from change returning ${COLUMNS}`),
    [`cli_${randomBase62(20)}`, name, origin],
  )
  return firstClient(rows)
}

/**
 * Clients, by name; `null`: there is none with the id of the cursor.
 *
 * @param groupId Those in this group and below it; `null`: all.
 */
export async function selectClientPage(
  pool: Postgres,
  order: PageOrder = WHOLE_LIST,
  groupId: string | null = null,
): Promise<ListedPage<Client> | null> {
  const { cursor } = order
  const { rows } = await pool.query<ClientRow>(
    `select ${COLUMNS} from ${SCHEMA}.clients
     where ($2::text is null or name > (select name from ${SCHEMA}.clients where id = $2))
       and ($3::text is null or id in (${membersBelow('$3')}))
     order by name limit $1`,
    [rowsOf(order), cursor, groupId],
  )
  if (cursor !== null && rows.length === 0 && (await findClientById(pool, cursor)) === null) return null
  return listedPage(rows.map(clientFrom), order)
}

export async function findClient(pool: Postgres, name: string): Promise<Client | null> {
  const { rows } = await pool.query<ClientRow>(`select ${COLUMNS} from ${SCHEMA}.clients where name = $1`, [
    name,
  ])
  return firstClient(rows)
}

export async function findClientById(pool: Postgres, id: string): Promise<Client | null> {
  const { rows } = await pool.query<ClientRow>(`select ${COLUMNS} from ${SCHEMA}.clients where id = $1`, [id])
  return firstClient(rows)
}

/** Disables or enables all keys of a client; `null`: unknown client. */
export async function setClientDisabled(
  pool: Postgres,
  name: string,
  disabled: boolean,
): Promise<Client | null> {
  const { rows } = await pool.query<ClientRow>(
    changing(`update ${SCHEMA}.clients set disabled = $2, version = change.version from change
              where name = $1 returning ${COLUMNS}`),
    [name, disabled],
  )
  return firstClient(rows)
}

/** Gives a client another name; `null`: unknown client; `'taken'`: another one has it. */
export async function renameClient(
  pool: Postgres,
  id: string,
  name: string,
): Promise<Client | null | 'taken'> {
  try {
    const { rows } = await pool.query<ClientRow>(
      changing(`update ${SCHEMA}.clients set name = $2, version = change.version from change
                where id = $1 returning ${COLUMNS}`),
      [id, name],
    )
    return firstClient(rows)
  } catch (error) {
    if (sqlStateOf(error) === UNIQUE_VIOLATION) return 'taken'
    throw error
  }
}

function firstClient(rows: readonly ClientRow[]): Client | null {
  return rows[0] === undefined ? null : clientFrom(rows[0])
}

function clientFrom(row: ClientRow): Client {
  const { id, name, disabled, created_at: createdAt, group_name: group } = row
  return { id, name, disabled, createdAt, group }
}

/** The names of these clients, by id. One that is no longer known is absent. */
export async function selectClientNames(
  session: Pick<PostgresSession, 'query'>,
  clientIds: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await session.query<{ id: string; name: string }>(
    `select id, name from ${SCHEMA}.clients where id = any($1)`,
    [[...clientIds]],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}
