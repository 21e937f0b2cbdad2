import { readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { until } from '../../lib/repeat.ts'
import { type StopStep, sendSignal } from '../processes/detached-process.ts'
import { folderIdentity, processIdentity, workingFolderIdentity } from '../processes/process-identity.ts'
import { writeFileAtomically } from './data-folder.ts'

interface RecordedProcess {
  readonly name: string
  readonly pid: number
  readonly identity: string
  /**
   * The data folder. A copied register is in a folder with another identity. Earlier releases did not record
   * it.
   */
  readonly folder?: { readonly path: string; readonly identity: string }
}

/** The folders in which servers work, in the data folder. */
const SERVER_FOLDERS = ['redis', 'postgres/data']

/** The processes that this run started, on disk, so that the next run finds them after a kill -9. */
export interface ProcessRegistry {
  record(name: string, pid: number): void
}

/** How a leftover process is stopped: those that run calls first, those that keep data last. */
const STOPPING: ReadonlyMap<string, StopStep> = new Map([
  ['gateway', { signal: 'SIGTERM', graceMs: 3_000 }],
  ['worker', { signal: 'SIGTERM', graceMs: 3_000 }],
  ['demo upstream', { signal: 'SIGTERM', graceMs: 1_000 }],
  ['redis', { signal: 'SIGTERM', graceMs: 10_000 }],
  ['postgres', { signal: 'SIGINT', graceMs: 10_000 }],
])

/**
 * Stops the processes that a killed run left, then begins this run's register. A register in a copy of a data
 * folder lists the original's processes, which are left alone. Only to be called under the data folder's
 * lock.
 * @param file The register, in the data folder itself.
 * @returns The register, and the names of the stopped processes.
 */
export async function stopLeftovers(file: string): Promise<{ registry: ProcessRegistry; stopped: string[] }> {
  const stopped: string[] = []
  const folder = identify(dirname(file))
  const before = readProcessRegistry(file).filter((recorded) => isOf(folder, recorded))
  for (const [name, { signal, graceMs }] of STOPPING) {
    for (const left of before.filter((recorded) => recorded.name === name)) {
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
  return { registry: createProcessRegistry(file, folder), stopped }
}

type Folder = NonNullable<RecordedProcess['folder']>

function identify(path: string): Folder {
  const identity = folderIdentity(path)
  if (identity === null) throw new Error(`${path} is gone`)
  return { path: realpathSync(path), identity }
}

/** Only servers outlive the run among the processes recorded without their folder, and these work in it. */
function isOf(folder: Folder, recorded: RecordedProcess): boolean {
  if (recorded.folder !== undefined) return recorded.folder.identity === folder.identity
  const at = workingFolderIdentity(recorded.pid)
  return at !== null && SERVER_FOLDERS.some((name) => folderIdentity(join(folder.path, name)) === at)
}

function createProcessRegistry(file: string, folder: Folder): ProcessRegistry {
  const recorded = new Map<string, RecordedProcess>()
  return {
    record(name, pid) {
      const identity = processIdentity(pid)
      if (identity === null) return
      recorded.set(name, { name, pid, identity, folder })
      writeFileAtomically(file, `${JSON.stringify([...recorded.values()], null, 2)}\n`)
    },
  }
}

function readProcessRegistry(file: string): RecordedProcess[] {
  try {
    const read: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return Array.isArray(read) ? read.filter(isRecorded) : []
  } catch {
    return [] // the first start
  }
}

function isRecorded(value: unknown): value is RecordedProcess {
  const { name, pid, identity, folder } = Object(value)
  if (folder !== undefined && typeof Object(folder).identity !== 'string') return false
  return typeof name === 'string' && Number.isSafeInteger(pid) && pid > 1 && typeof identity === 'string'
}
