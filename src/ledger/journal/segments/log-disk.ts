import {
  closeSync,
  fdatasync,
  ftruncateSync,
  open as openFile,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { open as openHandle, readdir, readFile, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { syncFolder } from '../../durable-file.ts'

/**
 * The operations of a log on the disk: the one place where it can fail. All methods throw or reject with the system's
 * errors; tests put a disk that refuses or loses in its place.
 */
export interface LogDisk {
  /** Creates an empty file of 0600 that was not there; returns its descriptor. */
  create(path: string): number
  /** As `create`, off the event loop; a file that was there is emptied. */
  createLater(path: string): Promise<number>
  /** Writes `length` bytes of `bytes` at `position`; returns how many were written, as `write(2)` does. */
  write(descriptor: number, bytes: Buffer, offset: number, length: number, position: number): number
  truncate(descriptor: number, length: number): void
  close(descriptor: number): void
  rename(from: string, to: string): void
  /** Deletes a file if it is there. */
  remove(path: string): void
  /** As `remove`, off the event loop. */
  removeLater(path: string): Promise<void>
  /** Resolves when what was written to the file before survives power loss. */
  sync(descriptor: number): Promise<void>
  /** As `sync`, of a file that is not open. */
  syncFile(path: string): Promise<void>
  /** Resolves when the names in a folder survive power loss. */
  syncFolder(folder: string): Promise<void>
  /** The names in a folder. */
  list(folder: string): Promise<string[]>
  /** The bytes at `position`: at most `length`, fewer at the file's end. */
  read(path: string, position: number, length: number): Buffer
  readAll(path: string): Promise<Buffer>
}

const openLater = promisify(openFile)

export const systemDisk: LogDisk = {
  create: (path) => openSync(path, 'wx', 0o600),
  createLater: (path) => openLater(path, 'w', 0o600),
  write: writeSync,
  truncate: ftruncateSync,
  close: closeSync,
  rename: renameSync,
  remove: (path) => rmSync(path, { force: true }),
  removeLater: (path) => rm(path, { force: true }),
  sync: (descriptor) =>
    new Promise((resolve, reject) => {
      fdatasync(descriptor, (error) => (error === null ? resolve() : reject(error)))
    }),
  syncFile: async (path) => {
    const file = await openHandle(path, 'r')
    try {
      await file.datasync()
    } finally {
      await file.close()
    }
  },
  syncFolder,
  list: (folder) => readdir(folder),
  read: (path, position, length) => {
    const descriptor = openSync(path, 'r')
    try {
      const bytes = Buffer.allocUnsafe(length)
      let count = 0
      while (count < length) {
        const read = readSync(descriptor, bytes, count, length - count, position + count)
        if (read === 0) break
        count += read
      }
      return bytes.subarray(0, count)
    } finally {
      closeSync(descriptor)
    }
  },
  readAll: (path) => readFile(path),
}
