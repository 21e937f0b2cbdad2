import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
} from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isMissingFile } from '../../lib/missing-file.ts'
import { isProducer } from '../entry.ts'
import { JOURNAL_FILE } from '../journal/older-journal.ts'
import { acquireLivenessLock, LIVENESS_FILE, type LivenessLock } from './liveness-lock.ts'

/** In a producer's folder: disk space for the end of running calls. */
export const RESERVE_FILE = 'reserve'

/** A folder that is not complete yet, or no longer, has a prefix, so that it does not pass for a producer's. */
const NEW_PREFIX = '.new-'
const GONE_PREFIX = '.gone-'
const QUARANTINE_SUFFIX = '.corrupt'
/** A folder is created in milliseconds. Older ones are found by the next process that makes one beside them. */
const UNFINISHED_LIMIT_MS = 3_600_000

/** A producer's folder, whose lock this process holds. */
export interface ProducerFolder {
  /** 32 lower-case hex digits. */
  readonly producer: string
  readonly path: string
  readonly lock: LivenessLock
}

/**
 * Creates the folder of a new producer, 0700 with files of 0600. Its lock is acquired before it gets its name, so that
 * an adopter never sees it unlocked.
 */
export function createProducerFolder(journalDir: string): ProducerFolder {
  mkdirSync(journalDir, { recursive: true, mode: 0o700 })
  const producer = randomBytes(16).toString('hex')
  const unfinished = join(journalDir, `${NEW_PREFIX}${producer}`)
  const path = join(journalDir, producer)
  mkdirSync(unfinished, { mode: 0o700 })
  for (const file of [LIVENESS_FILE, JOURNAL_FILE]) closeSync(openSync(join(unfinished, file), 'wx', 0o600))
  const lock = acquireLivenessLock(unfinished)
  if (lock === null) throw new Error(`the lock of the new folder ${unfinished} is taken`)
  renameSync(unfinished, path)
  syncDirectory(path)
  syncDirectory(journalDir)
  return { producer, path, lock }
}

export interface JournalDirectory {
  /** Producers whose folder is there, whether or not they run. */
  readonly producers: readonly string[]
  /** How many folders are quarantined because something in them could not be read. */
  readonly corrupt: number
  /** Paths of folders that a process was creating or deleting when it died. */
  readonly leftovers: readonly string[]
}

export function readJournalDirectory(journalDir: string): JournalDirectory {
  // Its last entry came by the clock that stamps the folders in it, which need not be this process's.
  const changedAtMs = statSync(journalDir).mtimeMs
  const names = readdirSync(journalDir)
  return {
    producers: names.filter(isProducer),
    corrupt: names.filter((name) => name.includes(QUARANTINE_SUFFIX)).length,
    leftovers: names.map((name) => join(journalDir, name)).filter((path) => isLeftover(path, changedAtMs)),
  }
}

/** Deletes the folder for good. It loses its name first, in one step, so that no process sees half of it. */
export async function deleteProducerFolder(journalDir: string, producer: string): Promise<void> {
  const gone = join(journalDir, `${GONE_PREFIX}${producer}`)
  renameSync(join(journalDir, producer), gone)
  await rm(gone, { recursive: true, force: true })
}

/** Renames the folder so that no process adopts it again; returns its new path. */
export function quarantineProducerFolder(journalDir: string, producer: string): string {
  for (let number = 1; ; number++) {
    const quarantined = join(journalDir, `${producer}${QUARANTINE_SUFFIX}${number === 1 ? '' : `-${number}`}`)
    if (existsSync(quarantined)) continue
    renameSync(join(journalDir, producer), quarantined)
    return quarantined
  }
}

/** @param nowMs by the clock of the file system */
function isLeftover(path: string, nowMs: number): boolean {
  const name = basename(path)
  if (name.startsWith(GONE_PREFIX)) return true
  if (!name.startsWith(NEW_PREFIX)) return false
  const changedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return nowMs - changedAtMs > UNFINISHED_LIMIT_MS
}

/** Makes the names in a directory survive power loss. Blocks: only at the start. */
function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** A producer's journal on this machine, without opening any file: that could release its owner's locks. */
interface JournalSize {
  readonly producer: string
  readonly bytes: number
}

/** The journals in a directory; none where the directory is missing. */
export async function readJournalSizes(
  journalDir: string,
): Promise<{ readonly journals: readonly JournalSize[]; readonly corrupt: number }> {
  try {
    const { producers, corrupt } = readJournalDirectory(journalDir)
    const journals = await Promise.all(
      producers.map(async (producer) => ({ producer, bytes: await sizeOf(join(journalDir, producer)) })),
    )
    return { journals, corrupt }
  } catch (error) {
    if (isMissingFile(error)) return { journals: [], corrupt: 0 }
    throw error
  }
}

/** Files appear and disappear meanwhile: a missing one counts as empty. */
async function sizeOf(folder: string): Promise<number> {
  const files = await readdir(folder).catch((error: unknown) => {
    if (isMissingFile(error)) return []
    throw error
  })
  const sizes = await Promise.all(
    files.map((file) =>
      stat(join(folder, file)).then(
        ({ size }) => size,
        (error: unknown) => {
          if (isMissingFile(error)) return 0
          throw error
        },
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
