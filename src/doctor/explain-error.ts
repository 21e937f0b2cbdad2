import { reasonOf } from '../lib/reason-of.ts'
import { Failure } from '../operations/failure.ts'
import {
  isOutOfConnections,
  isQueryTimeout,
  OUT_OF_CONNECTIONS,
  sqlStateOf,
} from '../store/connection/postgres.ts'

const UNDEFINED_TABLE = '42P01'
const UNDEFINED_COLUMN = '42703'
const NOT_SET_UP: readonly string[] = [UNDEFINED_TABLE, UNDEFINED_COLUMN]

/** One line on why a command failed and what to do, from whatever was thrown. Shows no secret. */
export function explainError(error: unknown): string {
  if (error instanceof Failure) return oneLine(error.message)
  const state = sqlStateOf(error)
  if (state !== null && NOT_SET_UP.includes(state)) {
    return 'the database is not set up for this release: run tallygate migrate'
  }
  const reason = oneLine(reasonOf(error))
  if (isQueryTimeout(error)) {
    return `it took too long (${reason}): narrow it by fewer days, one client, or a grouping less`
  }
  if (isOutOfConnections(error)) return `${OUT_OF_CONNECTIONS} (${reason})`
  if (state !== null) return `Postgres refused (${state}): ${reason}`
  return isConnectionError(error) ? `Postgres cannot be reached: ${reason}` : reason
}

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return /^E[A-Z]+$/.test(code) || /connection|timeout exceeded|timed out|read timeout/i.test(error.message)
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
