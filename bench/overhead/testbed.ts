import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem, type } from 'node:os'

/** Where and when figures were measured. */
export interface Testbed {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly system: string
  readonly node: string
  /** As `nginx -v` says it; `null`: not installed. */
  readonly nginx: string | null
  readonly date: string
  readonly commit: string
  /** Runnable processes on average over the minute before the run. */
  readonly loadBefore: number
}

/** Above this something else is at work, and figures are worth little. */
const BUSY_LOAD = 0.5

export function describeTestbed(nginx: string | null): Testbed {
  const all = cpus()
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGb: Math.round(totalmem() / 1e8) / 10,
    system: `${type()} ${release()}`,
    node: process.version,
    nginx,
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    commit: commitOf(),
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  }
}

/** What to say of figures that were taken while something else ran; `null`: nothing did. */
export function busyWarning({ loadBefore }: Pick<Testbed, 'loadBefore'>): string | null {
  if (loadBefore <= BUSY_LOAD) return null
  return `The machine was busy: a load of ${loadBefore} at the beginning. Do not quote these figures.`
}

function commitOf(): string {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'workers', 'bench', ':!bench/results')
    return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : ', with changes'}`
  } catch {
    return 'unknown'
  }
}
