/** A backup could not be made or restored: one sentence for a person. Nothing was changed. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}
