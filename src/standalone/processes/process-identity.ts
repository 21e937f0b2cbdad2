import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'

/**
 * Identifies one run of a process among others with the same number: the boot, and the start time. null: no
 * such process, or a zombie.
 */
export function processIdentity(pid: number): string | null {
  return existsSync('/proc/self/stat') ? fromProc(pid) : fromPs(pid)
}

/** proc(5): after the name in parentheses, which may hold anything, come state (3) ... and start time (22). */
function fromProc(pid: number): string | null {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return null
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTime] = [fields[0], fields[19]]
  if (state === 'Z' || state === 'X') return null
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${startTime}`
}

function fromPs(pid: number): string | null {
  const { stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
  const [, state, started] = /^(\S+)\s+(.*\S)\s*$/.exec(stdout) ?? []
  return state === undefined || started === undefined || state.startsWith('Z') ? null : started
}

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
