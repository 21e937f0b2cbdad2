/** SQLite's primary result codes that decisions depend on; https://www.sqlite.org/rescode.html */
export const SQLITE_BUSY = 5
const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26

/** The primary result code of an error of `node:sqlite`; 0 for any other error. */
export function sqliteResult(error: unknown): number {
  if (!(error instanceof Error) || !('errcode' in error)) return 0
  return typeof error.errcode === 'number' ? error.errcode & 0xff : 0
}

/** Tells whether SQLite failed because of the file's content, not because of the disk or a lock. */
export function isDamage(error: unknown): boolean {
  const result = sqliteResult(error)
  return result === SQLITE_CORRUPT || result === SQLITE_NOTADB
}
