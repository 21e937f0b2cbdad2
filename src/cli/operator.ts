import { userInfo } from 'node:os'

/** The name of the operator, for the audit. */
export function operatorName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}` // a container's user need not have a name
  }
}
