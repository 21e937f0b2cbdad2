import type { Readable, Writable } from 'node:stream'
import { from, to } from 'pg-copy-streams'
import type { LongSession } from './long-session.ts'

/** The rows that a `copy ... to stdout` writes, in Postgres's text format. */
export function copyOut(session: LongSession, statement: string): Readable & { readonly rowCount: number } {
  return session.query(to(statement))
}

/** Takes the rows of a `copy ... from stdin`; ending it ends the statement. */
export function copyIn(session: LongSession, statement: string): Writable & { readonly rowCount: number } {
  return session.query(from(statement))
}
