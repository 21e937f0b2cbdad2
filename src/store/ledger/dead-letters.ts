import type { Postgres, PostgresSession } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/** A record that could not be counted, as it came. */
export interface StoredDeadLetter {
  readonly producer: string
  readonly sequence: number
  readonly stream: string
  readonly body: string
  /** Why Postgres refused it; `null`: it is no record at all. */
  readonly sqlState: string | null
  readonly message: string
  readonly at: Date
  /** When it was counted after all; `null`: it is not. */
  readonly resolvedAt: Date | null
}

interface LetterRow {
  readonly producer: string
  readonly sequence: string
  readonly stream: string
  readonly body: string
  readonly sqlstate: string | null
  readonly message: string
  readonly at: Date
  readonly resolved_at: Date | null
}

const COLUMNS = 'producer, sequence, stream, body, sqlstate, message, at, resolved_at'

/** What is waiting for somebody to look at it, oldest first; with `all` also what was counted since. */
export async function selectDeadLetters(pool: Postgres, all: boolean): Promise<StoredDeadLetter[]> {
  const { rows } = await pool.query<LetterRow>(
    `select ${COLUMNS} from ${SCHEMA}.dead_letters where $1 or resolved_at is null
     order by at, producer, sequence limit 10000`,
    [all],
  )
  return rows.map(letterFrom)
}

export async function findDeadLetter(
  session: Postgres | PostgresSession,
  producer: string,
  sequence: number,
): Promise<StoredDeadLetter | null> {
  const { rows } = await session.query<LetterRow>(
    `select ${COLUMNS} from ${SCHEMA}.dead_letters where producer = $1 and sequence = $2`,
    [producer, sequence],
  )
  return rows[0] === undefined ? null : letterFrom(rows[0])
}

/**
 * Marks an unresolved letter as counted; of two that try, the second waits for the first and then finds it done.
 *
 * @returns `false`: it is not there, or was counted before.
 */
export async function resolveDeadLetter(
  session: PostgresSession,
  producer: string,
  sequence: number,
): Promise<boolean> {
  const { rowCount } = await session.query(
    `update ${SCHEMA}.dead_letters set resolved_at = now()
     where producer = $1 and sequence = $2 and resolved_at is null`,
    [producer, sequence],
  )
  return rowCount === 1
}

function letterFrom(row: LetterRow): StoredDeadLetter {
  return {
    producer: row.producer,
    sequence: Number(row.sequence),
    stream: row.stream,
    body: row.body,
    sqlState: row.sqlstate,
    message: row.message,
    at: row.at,
    resolvedAt: row.resolved_at,
  }
}
