import pg from 'pg'
import type { Postgres } from './postgres.ts'

/**
 * Makes a function that ends the statements under way in these pools. A server whose client has gone notices
 * it only when it has rows to send: an aggregate of minutes would go on, and no client would read it.
 */
export function cancelsStatementsOf(url: string, pools: readonly Postgres[]): () => Promise<void> {
  const processes = new Set<number>()
  for (const pool of pools) {
    pool.on('connect', (session) => processes.add(processOf(session)))
    pool.on('remove', (session) => processes.delete(processOf(session)))
  }
  return async () => {
    if (processes.size === 0) return
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 2_000,
      query_timeout: 2_000,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('select pg_cancel_backend(pid) from unnest($1::int[]) p (pid)', [[...processes]])
    } finally {
      await client.end()
    }
  }
}

/** The driver knows it, and its types do not. */
function processOf(session: object): number {
  return 'processID' in session ? Number(session.processID) : 0
}
