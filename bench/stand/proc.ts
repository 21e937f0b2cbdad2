import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const US_PER_TICK = 10_000
/** Both sources round, and are not read at the same moment. */
const SLACK_US = 2 * US_PER_TICK

/** CPU and memory of a process and those that it started, from /proc of Linux. */
export interface ProcessUse {
  /** Of the scheduler, to the nanosecond: the running threads, and children that ended and were waited for. */
  readonly livingUs: number
  /** Of the accounting, in ticks of 10 ms: ended threads too. */
  readonly accountedUs: number
}

/** Proportional set size counts a page that n processes share as an n-th in each. */
export interface Memory {
  readonly rssMb: number
  readonly pssMb: number
}

/** @returns `null`: no such process */
export function useOf(pid: number): ProcessUse | null {
  let livingUs = 0
  let accountedUs = 0
  const pids = treeOf(pid)
  for (const member of pids) {
    const stat = readStat(member)
    if (stat === null) continue
    const endedUs = stat.endedTicks * US_PER_TICK
    livingUs += threadsOf(member).reduce((sum, thread) => sum + runTimeUs(member, thread), endedUs)
    accountedUs += stat.ticks * US_PER_TICK + endedUs
  }
  return pids.length === 0 ? null : { livingUs, accountedUs }
}

/**
 * Microseconds of CPU between two readings, user and system. The scheduler's figure is the finer one, but it lacks
 * threads that ended meanwhile: where the accounting has clearly more, that is taken.
 */
export function cpuBetween(before: ProcessUse | null, after: ProcessUse | null): number | null {
  if (before === null || after === null) return null
  const livingUs = after.livingUs - before.livingUs
  const accountedUs = after.accountedUs - before.accountedUs
  return accountedUs - livingUs > SLACK_US ? accountedUs : livingUs
}

/** Of a process and those that it started, in MB of a million bytes. */
export function memoryOf(pid: number): Memory | null {
  const pids = treeOf(pid)
  let rssKb = 0
  let pssKb = 0
  for (const member of pids) {
    const text = readProc(`${member}/smaps_rollup`) ?? ''
    rssKb += Number(/^Rss:\s+(\d+)/m.exec(text)?.[1] ?? 0)
    pssKb += Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0)
  }
  return rssKb === 0 ? null : { rssMb: (rssKb * 1024) / 1e6, pssMb: (pssKb * 1024) / 1e6 }
}

/**
 * Gives the first core to these processes, and the others to this one and all else that it started; what is started later
 * runs beside it. @returns a function that takes it back.
 */
export function isolate(pids: readonly number[]): () => void {
  const cores = availableParallelism()
  if (cores < 2) return () => {}
  const others = `1-${cores - 1}`
  for (const pid of treeOf(process.pid)) runOn(pids.includes(pid) ? '0' : others, pid)
  return () => {
    for (const pid of treeOf(process.pid)) runOn(`0-${cores - 1}`, pid)
  }
}

/** With all of its threads. One that has ended meanwhile needs no core. */
function runOn(cores: string, pid: number): void {
  spawnSync('taskset', ['-acp', cores, `${pid}`])
}

/** Microseconds of CPU that all cores together have spent on anything since the system started. */
export function systemUseUs(): number {
  // user nice system idle iowait irq softirq steal: proc_stat(5). What the host took away was not idle either.
  const [, ...ticks] = (readProc('stat') ?? '').split('\n', 1).join('').split(/ +/)
  const isIdle = (index: number) => index === 3 || index === 4
  return ticks
    .slice(0, 8)
    .reduce((sum, count, index) => (isIdle(index) ? sum : sum + Number(count) * US_PER_TICK), 0)
}

/** The process and all below it; empty: there is none. */
function treeOf(pid: number): readonly number[] {
  if (readStat(pid) === null) return []
  const children = threadsOf(pid).flatMap((thread) =>
    (readProc(`${pid}/task/${thread}/children`) ?? '').split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(treeOf)]
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

function runTimeUs(pid: number, thread: string): number {
  return Number((readProc(`${pid}/task/${thread}/schedstat`) ?? '0').split(' ')[0]) / 1e3
}

/** `utime` and `stime`, and those of the children that ended: fields 14 to 17 of proc_pid_stat(5). */
function readStat(pid: number): { readonly ticks: number; readonly endedTicks: number } | null {
  const stat = readProc(`${pid}/stat`)
  if (stat === null) return null
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number)
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields
  return { ticks: user + system, endedTicks: endedUser + endedSystem }
}

function readProc(path: string): string | null {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return null
  }
}
