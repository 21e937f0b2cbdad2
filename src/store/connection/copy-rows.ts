import { finished, type Readable, type Writable } from 'node:stream'
import { from, to } from 'pg-copy-streams'
import type { LongSession } from './long-session.ts'

/** The rows that a `copy ... to stdout` writes, in Postgres's text format. */
export function copyOut(session: LongSession, statement: string): Readable & { readonly rowCount: number } {
  return ending(session.query(to(statement)))
}

/** Takes the rows of a `copy ... from stdin`; ending it ends the statement. */
export function copyIn(session: LongSession, statement: string): Writable & { readonly rowCount: number } {
  return ending(session.query(from(statement)))
}

/** The driver stops the timer of a statement in its callback, which copies do not call: a day of it would outlive the command. */
function ending<Copy extends Readable | Writable>(copy: Copy): Copy {
  finished(copy, () => {
    const callback: unknown = Reflect.get(copy, 'callback')
    if (typeof callback === 'function') callback.call(copy)
  })
  return copy
}
