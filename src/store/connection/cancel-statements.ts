import { SILENT_LOG } from '../../lib/logger.ts'
import { openPostgres, type Postgres } from './postgres.ts'
import { isPooled } from './sessions/session-settings.ts'

/**
 * Makes a function that ends the statements under way in these pools. A server whose client has gone notices
 * it only when it has rows to send: an aggregate of minutes would go on, and no client would read it.
 */
export function cancelsStatementsOf(url: string, pools: readonly Postgres[]): () => Promise<void> {
  const processes = new Set<number>()
  for (const pool of pools) {
    // A pooler's number is of no process of the server's.
    pool.on('connect', (session) => !isPooled(session) && processes.add(processOf(session)))
    pool.on('remove', (session) => processes.delete(processOf(session)))
  }
  return async () => {
    if (processes.size === 0) return
    const pool = openPostgres(url, {
      max: 1,
      statementTimeoutMs: 2_000,
      applicationName: 'tallygate cancel',
      readsOnly: true,
      log: SILENT_LOG,
    })
    try {
      await pool.query('select pg_cancel_backend(pid) from unnest($1::int[]) p (pid)', [[...processes]])
    } finally {
      await pool.end()
    }
  }
}

/** The driver knows it, and its types do not. */
function processOf(session: object): number {
  return 'processID' in session ? Number(session.processID) : 0
}
