import { readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { until } from '../../lib/until.ts'
import { type StopStep, sendSignal } from '../processes/detached-process.ts'
import { processIdentity } from '../processes/process-identity.ts'
import { folderIdentity, workingFolderIdentity } from './folder-identity.ts'
import { writeFileAtomically } from './write-file.ts'

interface Noted {
  readonly name: string
  readonly pid: number
  readonly identity: string
  /** The data folder: a copy of the notes is in one with another identity. Releases before did not note it. */
  readonly folder?: { readonly path: string; readonly identity: string }
}

/** Where servers work, in the data folder. */
const SERVER_FOLDERS = ['redis', 'postgres/data']

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
 * Stops what a killed run left running, then begins notes of this run's processes. Notes in a copy of a data folder are
 * about the original's processes, which are let be. Only to be called under the data folder's lock.
 *
 * @param file the notes, in the data folder itself
 * @returns the notes, and the names of what was stopped
 */
export async function stopLeftovers(file: string): Promise<{ notes: ProcessNotes; stopped: string[] }> {
  const stopped: string[] = []
  const folder = identify(dirname(file))
  const before = readNotes(file).filter((noted) => isOf(folder, noted))
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
  return { notes: beginNotes(file, folder), stopped }
}

type Folder = NonNullable<Noted['folder']>

function identify(path: string): Folder {
  const identity = folderIdentity(path)
  if (identity === null) throw new Error(`${path} is gone`)
  return { path: realpathSync(path), identity }
}

/** Of what was noted without its folder only servers outlive the run, and these work in it. */
function isOf(folder: Folder, noted: Noted): boolean {
  if (noted.folder !== undefined) return noted.folder.identity === folder.identity
  const at = workingFolderIdentity(noted.pid)
  return at !== null && SERVER_FOLDERS.some((name) => folderIdentity(join(folder.path, name)) === at)
}

function beginNotes(file: string, folder: Folder): ProcessNotes {
  const noted = new Map<string, Noted>()
  return {
    note(name, pid) {
      const identity = processIdentity(pid)
      if (identity === null) return
      noted.set(name, { name, pid, identity, folder })
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
  const { name, pid, identity, folder } = Object(value)
  if (folder !== undefined && typeof Object(folder).identity !== 'string') return false
  return typeof name === 'string' && Number.isSafeInteger(pid) && pid > 1 && typeof identity === 'string'
}
