import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { systemUseUs, useOf } from './proc.ts'

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

/** Above either something else is at work, and figures are worth little. */
const BUSY_LOAD = 0.5
const BUSY_SHARE = 0.05
const CHANGED = ', with changes'

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

/** What share of the CPU other programs take from now on: not this one, and none that it started. */
export class OtherWork {
  readonly #startedMs = performance.now()
  readonly #before = usedByOthersUs()

  share(): number {
    const spentUs = (performance.now() - this.#startedMs) * 1000 * cpus().length
    return Math.max((usedByOthersUs() - this.#before) / spentUs, 0)
  }
}

function usedByOthersUs(): number {
  return systemUseUs() - (useOf(process.pid)?.accountedUs ?? 0)
}

/** Why figures must not be quoted. */
export function warningsFor(
  { loadBefore, commit }: Pick<Testbed, 'loadBefore' | 'commit'>,
  otherWork: number,
  isQuick: boolean,
): readonly string[] {
  return [
    ...(isQuick
      ? ['This was a quick run, which only shows that the bench works. Do not quote its figures.']
      : []),
    ...(loadBefore > BUSY_LOAD
      ? [`The machine was busy: a load of ${loadBefore} at the beginning. Do not quote these figures.`]
      : []),
    ...(otherWork > BUSY_SHARE
      ? [`Other programs took ${Math.round(otherWork * 100)} % of the CPU. Do not quote these figures.`]
      : []),
    ...(commit.includes(CHANGED) ? ['The code had changes that are not committed.'] : []),
  ]
}

function commitOf(): string {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const changed = git(
      'status',
      '--porcelain',
      '--',
      'src',
      'workers',
      'packages',
      'bench',
      ':!bench/results',
    )
    return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : CHANGED}`
  } catch {
    return 'unknown'
  }
}
