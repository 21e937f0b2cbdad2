import { statSync } from 'node:fs'

/**
 * Tells a folder from its copies, also from one that stands where it stood, by the device and the number that
 * the file system gave it. The path does not count, since a folder that was moved is the same one to the
 * processes that work in it.
 *
 * @returns null: there is none, or it is closed to us
 */
export function folderIdentity(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}

/** The identity of the folder that a process works in; null: unknown, as anywhere but on Linux. */
export function workingFolderIdentity(pid: number): string | null {
  return folderIdentity(`/proc/${pid}/cwd`)
}
