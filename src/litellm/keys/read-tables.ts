import { SILENT_LOG } from '../../lib/logger.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import { Failure } from '../../operations/failure.ts'
import { openPostgres, type Postgres } from '../../store/connection/postgres.ts'
import { type LiteLlmTables, type Row, TABLE_NAMES } from './tables.ts'

const STATEMENT_TIMEOUT_MS = 600_000

/** The URL that PostgreSQL's clients take, and the schema that Prisma's URL names. */
function readPrismaUrl(url: string): { readonly url: string; readonly schema: string } {
  const parsed = new URL(url)
  const schema = parsed.searchParams.get('schema') ?? 'public'
  for (const own of ['schema', 'connection_limit', 'pool_timeout', 'pgbouncer', 'socket_timeout'])
    parsed.searchParams.delete(own)
  return { url: parsed.href, schema }
}

/**
 * The tables of a LiteLLM database, each row as JSON. Only `select` is asked of it.
 * @throws When it does not answer, or a table is not there.
 */
async function readTables(pool: Postgres, schema: string): Promise<LiteLlmTables> {
  const read = async (member: keyof LiteLlmTables): Promise<readonly Row[]> => {
    const { rows } = await pool.query<{ row: Row }>(
      `select to_jsonb(t) as row from ${quoted(schema)}.${quoted(TABLE_NAMES[member])} t`,
    )
    return rows.map(({ row }) => row)
  }
  return {
    keys: await read('keys'),
    teams: await read('teams'),
    users: await read('users'),
    budgets: await read('budgets'),
  }
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** The tables of a LiteLLM database. @throws {Failure} When they cannot be read. */
export async function readDatabase(database: string): Promise<LiteLlmTables> {
  return await withLiteLlm(database, readTables)
}

/** Reads a LiteLLM database, which is never written to. @throws {Failure} When it cannot be read. */
export async function withLiteLlm<Result>(
  database: string,
  work: (pool: Postgres, schema: string) => Promise<Result>,
): Promise<Result> {
  if (!/^postgres(?:ql)?:/.test(database) || !URL.canParse(database))
    throw new Failure('the LiteLLM database must be a postgresql:// URL')
  const { url, schema } = readPrismaUrl(database)
  const pool = openPostgres(url, {
    max: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: 'tallygate command line',
    readsOnly: true,
    log: SILENT_LOG,
  })
  try {
    return await work(pool, schema)
  } catch (error) {
    throw new Failure(`the LiteLLM database cannot be read: ${reasonOf(error)}`)
  } finally {
    await pool.end()
  }
}
