import { readFileSync, statfsSync } from 'node:fs'

/** Linux keeps the files in it in memory. */
const IN_MEMORY = '/dev/shm'

/** The tests that start servers had up to 750 MiB at once on two cores; PostgreSQL's log may grow, and cores add servers. */
export const NEEDED_BYTES = 2 * 1024 ** 3

/** What a machine has of it. */
export interface Memory {
  /** As `/proc/self/mounts` lists them. */
  readonly mounts: string
  /** Free in the folder. */
  readonly folderBytes: number
  readonly freeBytes: number
}

/**
 * A folder for temporary files that is in memory, where this machine has one with room; else `null`. Each database is
 * hundreds of files: to make, copy and delete them on a disk's file system took up to 400 ms of CPU, and takes 10 here.
 */
export function findMemoryFolder(memory: Memory = thisMemory()): string | null {
  const mount = memory.mounts.split('\n').find((line) => line.split(' ')[1] === IN_MEMORY)
  const options = mount?.split(' ')[3]?.split(',') ?? []
  // Some tests run programs out of their folders.
  if (!options.includes('rw') || options.includes('noexec')) return null
  // The processes of the tests need as much besides.
  if (memory.folderBytes < NEEDED_BYTES || memory.freeBytes < 2 * NEEDED_BYTES) return null
  return IN_MEMORY
}

function thisMemory(): Memory {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY)
    const mounts = readFileSync('/proc/self/mounts', 'utf8')
    return { mounts, folderBytes: bavail * bsize, freeBytes: process.availableMemory() }
  } catch {
    return { mounts: '', folderBytes: 0, freeBytes: 0 } // no Linux
  }
}
