import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { until } from '../../lib/until.ts'
import { folderIdentity, workingFolderIdentity } from '../data-folder/folder-identity.ts'
import { processIdentity } from '../processes/process-identity.ts'

/** Backends whose postmaster was killed notice within moments. */
const BACKENDS_END_MS = 10_000

/**
 * Deletes the lock file of a postmaster that certainly does not work on this data: one that is gone, or one
 * that runs on the data of which this is a copy. PostgreSQL would take the latter for its rival, by its
 * number alone.
 *
 * PostgreSQL deletes the file of a dead postmaster itself, but takes a zombie for a living one, and zombies
 * stay in a container whose first process does not collect them. Its other condition is kept: no backend may
 * still be attached to the shared memory that the file names. This part is for Linux only.
 *
 * Only to be called by the process that alone starts servers on this data.
 * @param file postmaster.pid: process id first, data folder second, "key id" of the shared memory seventh
 * (src/include/utils/pidfile.h).
 */
export async function clearStaleLock(file: string): Promise<void> {
  if (!existsSync(file)) return
  const lines = readFileSync(file, 'utf8').split('\n')
  const pid = Number(lines[0])
  if (!Number.isSafeInteger(pid)) return
  if (isOfOtherData(dirname(file), pid, lines[1])) {
    rmSync(file, { force: true })
    return
  }
  if (!existsSync('/proc/sysvipc/shm') || processIdentity(pid) !== null) return
  const segment = lines[6]?.trim().split(/\s+/)[1]
  const unused = await until(() => (segment === undefined || attachedTo(segment) === 0 ? true : null), {
    timeoutMs: BACKENDS_END_MS,
  })
  if (unused) rmSync(file, { force: true })
}

/** Whether the lock is a copy: it names another folder, whose own lock names the same postmaster. */
function isOfOtherData(data: string, pid: number, named: string | undefined): boolean {
  const ours = folderIdentity(data)
  if (named === undefined || folderIdentity(named) === ours || workingFolderIdentity(pid) === ours)
    return false
  const original = join(named, 'postmaster.pid')
  return existsSync(original) && Number(readFileSync(original, 'utf8').split('\n')[0]) === pid
}

/** How many processes have the segment: proc(5), columns shmid and nattch. */
function attachedTo(segment: string): number {
  const [head = '', ...rows] = readFileSync('/proc/sysvipc/shm', 'utf8').trim().split('\n')
  const names = head.trim().split(/\s+/)
  for (const row of rows) {
    const values = row.trim().split(/\s+/)
    if (values[names.indexOf('shmid')] === segment) return Number(values[names.indexOf('nattch')])
  }
  return 0
}
