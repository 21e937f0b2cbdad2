import { sqlStateOf } from './postgres.ts'

const CHARACTER_NOT_IN_REPERTOIRE = '22021'

/** Whether a statement failed because one of its texts has a NUL character, which Postgres cannot store or compare. */
export function isUnstorableText(error: unknown): boolean {
  return sqlStateOf(error) === CHARACTER_NOT_IN_REPERTOIRE
}
