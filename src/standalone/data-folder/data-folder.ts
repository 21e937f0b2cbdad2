import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** The process that holds a data folder says this of itself. */
export interface Holder {
  readonly pid: number
  readonly state: 'starting' | 'running' | 'stopping'
  /** null until it listens. */
  readonly baseUrl: string | null
}

/** TALLYGATE_DATA_DIR, ours alone until `release` or the end of the process. */
export interface DataFolder {
  /** Absolute. */
  readonly path: string
  file(...names: string[]): string
  /** Makes a folder below it, closed to others. */
  folder(name: string): string
  /** Tells a second start who is here. */
  announce(holder: Omit<Holder, 'pid'>): void
  release(): void
}

/**
 * Makes the folder, closed to others, and takes it for this process: an empty SQLite file held in BEGIN EXCLUSIVE, a
 * lock that the kernel takes back however the process ends. No pid is believed, none can be stale.
 *
 * @returns the other process that holds it, if any
 */
export function takeDataFolder(path: string): DataFolder | { readonly heldBy: Holder | null } {
  const root = resolve(path)
  mkdirSync(root, { recursive: true, mode: 0o700 })
  chmodSync(root, 0o700)
  const file = (...names: string[]) => join(root, ...names)
  const lock = takeLock(file('lock.db'))
  if (lock === null) return { heldBy: readHolder(file('holder.json')) }
  return {
    path: root,
    file,
    folder(name) {
      mkdirSync(file(name), { recursive: true, mode: 0o700 })
      return file(name)
    },
    announce(holder) {
      writeFileAtomically(file('holder.json'), `${JSON.stringify({ pid: process.pid, ...holder })}\n`)
    },
    release() {
      rmSync(file('holder.json'), { force: true })
      lock.close()
    },
  }
}

function takeLock(file: string): DatabaseSync | null {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('begin exclusive')
    return database
  } catch (error) {
    database.close()
    if (error instanceof Error && /locked|busy/i.test(error.message)) return null
    throw error
  }
}

function readHolder(file: string): Holder | null {
  try {
    const { pid, state, baseUrl } = JSON.parse(readFileSync(file, 'utf8'))
    return { pid, state, baseUrl }
  } catch {
    return null // not written yet, or just gone
  }
}

/** Writes a file that only its owner may read, whole or not at all, also over a crash. */
export function writeFileAtomically(file: string, text: string): void {
  const next = `${file}.next`
  const descriptor = openSync(next, 'w', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(next, file)
}
