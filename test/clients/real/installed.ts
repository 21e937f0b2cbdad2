import { inject, type TestContext } from 'vitest'
import type { SetName } from './sets.ts'

/** Where a set is. A test without its set shows nothing: it is skipped, and says why. */
export function folderOf(set: SetName, { skip, task }: TestContext): string {
  const installed = inject('installedClients').sets[set]
  if (installed !== undefined && 'folder' in installed) return installed.folder
  if (installed?.isToolchain === false) throw new Error(installed.missing)
  const why = installed?.missing ?? `CLIENTS asks for no row of the set ${set}`
  process.stdout.write(`NOT RUN: ${task.name}: ${why}\n`)
  return skip(why)
}
