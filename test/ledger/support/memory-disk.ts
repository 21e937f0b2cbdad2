import { dirname } from 'node:path'
import type { LogDisk } from '../../../src/ledger/journal/segments/log-disk.ts'

/** What power loss leaves of a file is decided for each of these pieces. */
const SECTOR_BYTES = 512

interface MemoryFile {
  bytes: Buffer
  /** What survives power loss for certain; `null`: not even its name. */
  synced: Buffer | null
}

/** A disk in memory that can lose power, and that can end the process at any write. */
export class MemoryDisk implements LogDisk {
  readonly files = new Map<string, MemoryFile>()
  readonly #open = new Map<number, MemoryFile>()
  /** Names that a sync of the folder has not seen yet: what stood there before it; `null`: nothing. */
  readonly #unsyncedNames = new Map<string, MemoryFile | null>()
  #nextDescriptor = 100
  /** So many more writes, creations, renames and deletions are done; the next is half done, and the process is killed. */
  steps = Number.POSITIVE_INFINITY
  isKilled = false
  /** It takes so many bytes more; then it is full. */
  room = Number.POSITIVE_INFINITY
  syncFailure: Error | null = null
  /** So many turns of the event loop a sync takes. */
  syncTurns = 1

  create(path: string): number {
    if (this.files.has(path)) throw new Error(`EEXIST: ${path}`)
    return this.#create(path)
  }

  async createLater(path: string): Promise<number> {
    return this.#create(path)
  }

  write(descriptor: number, bytes: Buffer, offset: number, length: number, position: number): number {
    const file = this.#file(descriptor)
    const taken = Math.min(length, this.room)
    if (taken === 0) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    this.room -= taken
    const count = this.#isLastStep() ? Math.floor(taken / 2) : taken
    const size = Math.max(file.bytes.length, position + count)
    const grown = Buffer.alloc(size)
    file.bytes.copy(grown)
    bytes.copy(grown, position, offset, offset + count)
    file.bytes = grown
    this.#dieIfKilled()
    return count
  }

  truncate(descriptor: number, length: number): void {
    this.#dieIfKilled()
    const file = this.#file(descriptor)
    file.bytes = Buffer.from(file.bytes.subarray(0, length))
  }

  close(descriptor: number): void {
    if (!this.#open.delete(descriptor)) throw new Error('EBADF')
  }

  rename(from: string, to: string): void {
    this.#step()
    const file = this.files.get(from)
    if (file === undefined) throw new Error(`ENOENT: ${from}`)
    if (!this.#unsyncedNames.has(to)) this.#unsyncedNames.set(to, this.files.get(to) ?? null)
    this.files.delete(from)
    this.files.set(to, file)
  }

  remove(path: string): void {
    this.#step()
    this.files.delete(path)
  }

  async removeLater(path: string): Promise<void> {
    this.remove(path)
  }

  async sync(descriptor: number): Promise<void> {
    const file = this.#file(descriptor)
    const { bytes } = file
    const failure = this.syncFailure
    for (let turn = 0; turn < this.syncTurns; turn++) await new Promise((resolve) => setImmediate(resolve))
    if (failure !== null) throw failure
    file.synced = Buffer.from(bytes)
  }

  async syncFile(path: string): Promise<void> {
    const file = this.#at(path)
    if (this.syncFailure !== null) throw this.syncFailure
    file.synced = Buffer.from(file.bytes)
  }

  async syncFolder(folder: string): Promise<void> {
    for (const path of [...this.#unsyncedNames.keys()])
      if (dirname(path) === folder) this.#unsyncedNames.delete(path)
  }

  async list(folder: string): Promise<string[]> {
    const paths = [...this.files.keys()].filter((path) => dirname(path) === folder)
    return paths.map((path) => path.slice(folder.length + 1))
  }

  read(path: string, position: number, length: number): Buffer {
    return Buffer.from(this.#at(path).bytes.subarray(position, position + length))
  }

  async readAll(path: string): Promise<Buffer> {
    return Buffer.from(this.#at(path).bytes)
  }

  /** The same files on another disk, without descriptors. */
  copy(): MemoryDisk {
    const copy = new MemoryDisk()
    for (const [path, { bytes }] of this.files) {
      const same = Buffer.from(bytes)
      copy.files.set(path, { bytes: same, synced: same })
    }
    return copy
  }

  /** What a power loss now leaves: of all that is not synced, each sector is as it was, zeros, or as it was written. */
  afterPowerLoss(random: () => number): MemoryDisk {
    const left = new MemoryDisk()
    for (const [path, file] of this.files) {
      const before = this.#unsyncedNames.get(path)
      const kept = before === undefined || random() < 0.5 ? file : before
      if (kept === null) continue
      const bytes = halfWritten(kept, random)
      left.files.set(path, { bytes, synced: bytes })
    }
    return left
  }

  #create(path: string): number {
    this.#step()
    const file: MemoryFile = { bytes: Buffer.alloc(0), synced: null }
    if (!this.files.has(path)) this.#unsyncedNames.set(path, null)
    this.files.set(path, file)
    const descriptor = this.#nextDescriptor++
    this.#open.set(descriptor, file)
    return descriptor
  }

  #isLastStep(): boolean {
    this.#dieIfKilled()
    this.isKilled = this.steps-- < 1
    return this.isKilled
  }

  #step(): void {
    this.#isLastStep()
    this.#dieIfKilled()
  }

  #dieIfKilled(): void {
    if (this.isKilled) throw new Error('the process was killed')
  }

  #file(descriptor: number): MemoryFile {
    const file = this.#open.get(descriptor)
    if (file === undefined) throw new Error('EBADF')
    return file
  }

  #at(path: string): MemoryFile {
    const file = this.files.get(path)
    if (file === undefined) throw new Error(`ENOENT: ${path}`)
    return file
  }
}

function halfWritten({ bytes, synced }: MemoryFile, random: () => number): Buffer {
  const before = synced ?? Buffer.alloc(0)
  const length = before.length + Math.floor(random() * (bytes.length - before.length + 1))
  const left = Buffer.from(bytes.subarray(0, length))
  for (let at = 0; at < length; at += SECTOR_BYTES) {
    const end = Math.min(at + SECTOR_BYTES, length)
    if (end <= before.length || random() < 0.7) continue
    left.fill(0, at, end)
    if (at < before.length) before.copy(left, at, at, Math.min(end, before.length))
  }
  return left
}
