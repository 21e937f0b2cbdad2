import type pg from 'pg'
import type { Logger } from '../../lib/logger.ts'
import { clientClass, connectInTurn, ServerConnector } from './sessions/connector.ts'
import { beginTransaction } from './sessions/session-settings.ts'

/** All rows of a large database may be rewritten, or copied. */
const LONGEST_MS = 86_400_000

/** One connection of its own, for work that takes as long as it takes. */
export type LongSession = pg.Client

/**
 * Opens one connection, and closes it after `work`: a transaction that is open then is rolled back.
 *
 * @throws When the server is away, and what `work` throws.
 */
export async function withSession<Result>(
  databaseUrl: string,
  { applicationName, log }: { readonly applicationName: string; readonly log: Logger },
  work: (session: LongSession) => Promise<Result>,
): Promise<Result> {
  const connector = new ServerConnector({
    url: databaseUrl,
    applicationName,
    statementTimeoutMs: LONGEST_MS,
    workMemoryMb: null,
    readsOnly: false,
    isPipelined: false,
    log,
  })
  const Client = clientClass(connector)
  const client = await connectInTurn(connector, async () => {
    const made = new Client()
    try {
      await made.connect()
      await connector.check(made)
      return made
    } catch (error) {
      await made.end().catch(() => {})
      throw error
    }
  })
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Begins a transaction that waits for locks, and may idle, as long as it takes. */
export async function beginLongTransaction(session: LongSession, mode: string): Promise<void> {
  await beginTransaction(session, mode)
  await session.query('set local lock_timeout = 0')
  await session.query('set local idle_in_transaction_session_timeout = 0')
}
