import { readFileSync } from 'node:fs'
import { type StopStep, sendSignal } from './detached-process.ts'
import { processIdentity } from './process-identity.ts'
import { until } from './until.ts'
import { writeFileAtomically } from './write-file.ts'

interface Noted {
  readonly name: string
  readonly pid: number
  readonly identity: string
}

/** The processes that this run started, on disk, so that a run after a kill -9 of this one finds them. */
export interface ProcessNotes {
  note(name: string, pid: number): void
}

/** How a process left behind is asked to end; what runs calls first, what keeps data last. */
const STOPPING: ReadonlyMap<string, StopStep> = new Map([
  ['gateway', { signal: 'SIGTERM', graceMs: 3_000 }],
  ['worker', { signal: 'SIGTERM', graceMs: 3_000 }],
  ['demo upstream', { signal: 'SIGTERM', graceMs: 1_000 }],
  ['redis', { signal: 'SIGTERM', graceMs: 10_000 }],
  ['postgres', { signal: 'SIGINT', graceMs: 10_000 }],
])

/**
 * Stops what a killed run left running, then begins notes of this run's processes.
 * Only to be called under the data folder's lock.
 *
 * @returns the notes, and the names of what was stopped
 */
export async function stopLeftovers(file: string): Promise<{ notes: ProcessNotes; stopped: string[] }> {
  const stopped: string[] = []
  const before = readNotes(file)
  for (const [name, { signal, graceMs }] of STOPPING) {
    for (const left of before.filter((noted) => noted.name === name)) {
      const isGone = () => (processIdentity(left.pid) === left.identity ? null : true)
      if (isGone()) continue
      stopped.push(name)
      sendSignal(left.pid, 'SIGCONT') // a frozen process would not hear the rest
      sendSignal(left.pid, signal)
      if (await until(isGone, { timeoutMs: graceMs })) continue
      sendSignal(left.pid, 'SIGKILL')
      await until(isGone, { timeoutMs: 5_000 })
    }
  }
  return { notes: beginNotes(file), stopped }
}

function beginNotes(file: string): ProcessNotes {
  const noted = new Map<string, Noted>()
  return {
    note(name, pid) {
      const identity = processIdentity(pid)
      if (identity === null) return
      noted.set(name, { name, pid, identity })
      writeFileAtomically(file, `${JSON.stringify([...noted.values()], null, 2)}\n`)
    },
  }
}

function readNotes(file: string): Noted[] {
  try {
    const read: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return Array.isArray(read) ? read.filter(isNoted) : []
  } catch {
    return [] // the first start
  }
}

function isNoted(value: unknown): value is Noted {
  const { name, pid, identity } = Object(value)
  return typeof name === 'string' && Number.isSafeInteger(pid) && pid > 1 && typeof identity === 'string'
}
