import type { Postgres, PostgresSession } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/** A record that could not be counted, as it was received. */
export interface StoredDeadLetter {
  readonly producer: string
  readonly sequence: number
  readonly stream: string
  readonly body: string
  /** Why Postgres refused it; `null`: its body is not a record. */
  readonly sqlState: string | null
  readonly message: string
  readonly at: Date
  /** When it was counted after all; `null`: it has not been. */
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

/** Dead letters that were not counted, oldest first, at most 10,000; with `all` also those that were counted since. */
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
 * Marks an unresolved letter as counted. Of two transactions that try, the second waits for the first and then finds
 * it done.
 *
 * @returns `false`: it does not exist, or was counted before.
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

/** A record that is to be kept because it cannot be counted. */
export interface DeadLetter {
  readonly producer: string
  readonly sequence: number
  readonly body: string
  /** Why Postgres refused it; `null`: its body is not a record. */
  readonly sqlState: string | null
  readonly message: string
}

/** Keeps what cannot be counted, as it was received. Only characters that no text column can hold are replaced. */
export async function addDeadLetters(
  session: PostgresSession,
  stream: string,
  letters: readonly DeadLetter[],
): Promise<void> {
  const storable = letters.map((letter) => ({ ...letter, body: storableText(letter.body) }))
  await session.query(
    `insert into ${SCHEMA}.dead_letters (producer, sequence, stream, body, sqlstate, message)
     select producer, sequence, $2, body, "sqlState", message
     from json_to_recordset($1) as d (producer text, sequence bigint, body text, "sqlState" text, message text)
     on conflict do nothing`,
    [JSON.stringify(storable), stream],
  )
}

function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
