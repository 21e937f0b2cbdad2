/** Tells whether a file system call failed because there is no file or folder of that name (`ENOENT`). */
export function isMissingFile(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
