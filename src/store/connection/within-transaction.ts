import type { QueryConfig } from 'pg'
import type { Postgres, PostgresSession } from './postgres.ts'

const SAVEPOINT = 'within'

/**
 * A pool within one transaction: all statements go over its connection, and a transaction in it is a savepoint. That has
 * to be read committed, as the one around it is.
 */
export function poolWithin(session: PostgresSession): Postgres {
  const lent = new Proxy(session, {
    get(target, member) {
      if (member === 'query') return query
      if (member === 'release') return release
      const value: unknown = Reflect.get(target, member)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  async function query(statement: string | QueryConfig, values?: unknown[]) {
    if (typeof statement !== 'string') return await session.query(statement, values)
    if (/^begin\b/.test(statement)) {
      if (!statement.endsWith('read committed'))
        throw new Error(`${statement} cannot be within a transaction`)
      return await session.query(`savepoint ${SAVEPOINT}`)
    }
    if (statement === 'rollback') return await session.query(`rollback to savepoint ${SAVEPOINT}`)
    if (statement !== 'commit') return await session.query(statement, values)
    return { ...(await session.query(`release savepoint ${SAVEPOINT}`)), command: 'COMMIT' }
  }
  /** Undoes what went wrong up to the savepoint, ahead of the next statement. */
  function release(broken?: Error | boolean): void {
    if (broken !== undefined && broken !== false)
      session.query(`rollback to savepoint ${SAVEPOINT}`).catch(() => {}) // there was none, and the next statement says so
  }
  const pool = {
    connect: async () => lent,
    query: (statement: string | QueryConfig, values?: unknown[]) => session.query(statement, values),
    on: () => pool,
    end: async () => {},
  }
  return pool as unknown as Postgres
}
