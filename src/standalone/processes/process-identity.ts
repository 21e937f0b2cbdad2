import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

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
