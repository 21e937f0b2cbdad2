import { existsSync, readFileSync, rmSync } from 'node:fs'
import { processIdentity } from './process-identity.ts'
import { until } from './until.ts'

/** Backends whose postmaster was killed notice within moments. */
const BACKENDS_END_MS = 10_000

/**
 * Deletes the lock file of a postmaster that is gone for certain. PostgreSQL does so itself, but takes the remains of a
 * process that nobody collects for a living one, and such remains stay in a container whose first process is not
 * an init. Its other condition is kept: no backend may still be attached to the shared memory that the file names.
 *
 * Only on Linux, and only to be called by who alone starts servers on this data.
 *
 * @param file postmaster.pid: process id first, "key id" of the shared memory seventh (src/include/utils/pidfile.h)
 */
export async function clearStaleLock(file: string): Promise<void> {
  if (!existsSync(file) || !existsSync('/proc/sysvipc/shm')) return
  const lines = readFileSync(file, 'utf8').split('\n')
  const pid = Number(lines[0])
  if (!Number.isSafeInteger(pid) || processIdentity(pid) !== null) return
  const segment = lines[6]?.trim().split(/\s+/)[1]
  const unused = await until(() => (segment === undefined || attachedTo(segment) === 0 ? true : null), {
    timeoutMs: BACKENDS_END_MS,
  })
  if (unused) rmSync(file, { force: true })
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
