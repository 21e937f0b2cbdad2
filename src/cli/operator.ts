import { userInfo } from 'node:os'

/** Who is at the command line, for the record. */
export function operatorName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}` // a container's user need not have a name
  }
}
